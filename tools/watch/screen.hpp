// SPDX-License-Identifier: BSD-3-Clause
// What `cinnabar top` shows, as lines of text for a screen of that size. Pure.
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
    Order order = Order::rate;  // of RPCs and peers; calls are by age
    std::size_t width = 80;
    std::size_t height = 24;
};

// Exactly `height` lines of at most `width` columns; the first and the second are heads.
[[nodiscard]] std::vector<std::string> draw(const State& state, std::vector<RpcRow> rows, const History& history,
                                            const std::string& address, const View& view);

// One line for a pipe: what the first line of the screen says.
[[nodiscard]] std::string summary(const State& state, const std::vector<RpcRow>& rows, const History& history);

// The last values as blocks of eight heights, `width` of them at most; the highest is a full block.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width);

// Of so many microseconds; "-" of none.
[[nodiscard]] std::string latency_text(double us);

// Padded or cut to so many columns; what is cut ends with "~". Each character counts for one column.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

}  // namespace cinnabar::tools::watch
