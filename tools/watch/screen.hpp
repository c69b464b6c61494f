// SPDX-License-Identifier: BSD-3-Clause
// Renders the screen of `cinnabar top` as lines of text. Pure functions.
#pragma once

#include "watch/history.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools::watch {

enum class Tab : std::uint8_t { rpcs, peers, calls, log };
enum class Order : std::uint8_t { rate, p99, failed, name };

struct View {
    Tab tab = Tab::rpcs;
    Order order = Order::rate;  // of RPCs and peers; calls are sorted by age
    std::size_t width = 80;
    std::size_t height = 24;
    std::string trouble = {};  // why the state is not that of this moment; empty: it is
};

// Exactly `height` lines of at most `width` columns; the first two are headings.
[[nodiscard]] std::vector<std::string> draw(const State& state, std::vector<RpcRow> rows, const History& history,
                                            const std::string& address, const View& view);

// One line for a pipe: the first line of the screen.
[[nodiscard]] std::string summary(const State& state, const std::vector<RpcRow>& rows, const History& history);

// Draws the last values, at most `width` of them, as blocks of eight heights; the highest value is a full block.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width);

// Formats microseconds; "-" for none.
[[nodiscard]] std::string latency_text(double us);

// Pads or cuts text to `columns`; a cut text ends with "~". Each character counts as one column.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

}  // namespace cinnabar::tools::watch
