// SPDX-License-Identifier: BSD-3-Clause
// Renders the screen of `cinnabar top` as lines of text, or what it shows as lines for a pipe. Pure functions.
#pragma once

#include "watch/history.hpp"
#include "watch/table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::watch {

enum class Tab : std::uint8_t { rpcs, peers, calls, time, pools, memory, log };
// By Tab, as the command line names them.
inline constexpr std::array<std::string_view, 7> tab_names{"rpcs", "peers", "calls", "time", "pools", "memory", "log"};
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

// What a tab shows, for a pipe: all rows, as wide as they need, without spaces at their ends.
[[nodiscard]] std::vector<std::string> plain_lines(const State& state, std::vector<RpcRow> rows, const History& history,
                                                   Tab tab);

// One line for a pipe: the first line of the screen.
[[nodiscard]] std::string summary(const State& state, const std::vector<RpcRow>& rows, const History& history);

// Formats microseconds; "-" for none.
[[nodiscard]] std::string latency_text(double us);

}  // namespace cinnabar::tools::watch
