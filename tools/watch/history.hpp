// SPDX-License-Identifier: BSD-3-Clause
// Computes rates between consecutive states, and keeps recent ones.
#pragma once

#include "watch/state.hpp"

#include <cinnabar/hl/stats.hpp>

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::watch {

struct RpcRow {
    std::string name;
    double per_second = 0;  // requests and calls
    double failed_per_second = 0;
    double p50_us = 0;  // of calls that ended since the previous state; at first, of all calls
    double p99_us = 0;
    std::uint64_t requests = 0;
    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    std::vector<double> past;  // per_second, newest last
    // The next four describe what ended since the previous state, or everything so far if nothing has ended since.
    // `timed`: calls that recorded the parts of their time; `parts_us`: the means of these parts. `handled`: requests;
    // `handler_us`: the mean time of their handlers.
    std::uint64_t timed = 0;
    std::array<double, hl::call_parts> parts_us{};
    std::uint64_t handled = 0;
    double handler_us = 0;
};

class History {
  public:
    static constexpr std::size_t kept = 60;

    // The rows of `state`, with rates since the previous state.
    [[nodiscard]] std::vector<RpcRow> take(const State& state);
    // Share of one processor that the process used since the previous state.
    [[nodiscard]] double processor_share() const noexcept { return processor_share_; }

  private:
    struct Seen {
        look::RpcReport last;
        std::deque<double> past;
    };
    std::map<std::string, Seen> rpcs_;
    std::optional<std::chrono::steady_clock::time_point> when_;
    std::uint64_t processor_us_ = 0;
    double processor_share_ = 0;
};

}  // namespace cinnabar::tools::watch
