// SPDX-License-Identifier: BSD-3-Clause
// Computes rates between consecutive states, and keeps recent ones.
#pragma once

#include "watch/state.hpp"

#include <cinnabar/hl/stats.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
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
    // The next four members cover the calls and requests that have ended since the previous state; if none has ended
    // since, all so far. `timed`: the number of calls that recorded the parts of their time; `parts_us`: the means of
    // these parts. `handled`: the number of requests; `handler_us`: the mean time of their handlers.
    std::uint64_t timed = 0;
    std::array<double, hl::call_parts> parts_us{};
    std::uint64_t handled = 0;
    double handler_us = 0;
};

struct PeerRow {
    look::PeerReport report;
    std::optional<look::PeerTraffic> traffic;  // not reported by nodes of an earlier version
    double bytes_per_second = 0;               // in both directions
    std::vector<double> past;                  // bytes_per_second, newest last; empty: not known yet
};

class History {
  public:
    static constexpr std::size_t kept = 60;

    // The rows of `state`, with rates since the previous state.
    [[nodiscard]] std::vector<RpcRow> take(const State& state);
    // The peers of `state`, with the rates that take() has computed.
    [[nodiscard]] std::vector<PeerRow> peers(const State& state) const;
    // Share of one processor that the process used since the previous state.
    [[nodiscard]] double processor_share() const noexcept { return processor_share_; }

  private:
    struct Seen {
        look::RpcReport last;
        std::deque<double> past;
    };
    // The context, the transport and the name.
    using PeerKey = std::tuple<std::uint32_t, std::string, std::string>;
    struct SeenPeer {
        std::uint64_t bytes = 0;
        std::deque<double> past;
    };
    void take_peers(const State& state);

    std::map<PeerKey, SeenPeer> peers_;  // those of the last state with peers: callers come and go
    std::optional<std::chrono::steady_clock::time_point> peers_when_;
    std::map<std::string, Seen> rpcs_;
    std::optional<std::chrono::steady_clock::time_point> when_;
    std::uint64_t processor_us_ = 0;
    double processor_share_ = 0;
};

}  // namespace cinnabar::tools::watch
