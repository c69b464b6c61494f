// SPDX-License-Identifier: BSD-3-Clause
// Rates, from one state to the next, and their last values. Pure.
#pragma once

#include "watch/state.hpp"

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
    double p50_us = 0;  // of what ended since the last state; of all at first
    double p99_us = 0;
    std::uint64_t requests = 0;
    std::uint64_t calls = 0;
    std::uint64_t failed = 0;
    std::vector<double> past;  // per_second, the newest last
};

class History {
  public:
    static constexpr std::size_t kept = 60;

    // Rows of `state`, with rates since the one before.
    [[nodiscard]] std::vector<RpcRow> take(const State& state);
    // Share of one processor that the process took since the one before.
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
