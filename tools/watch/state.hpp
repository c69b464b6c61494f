// SPDX-License-Identifier: BSD-3-Clause
// What a node reports about itself at one moment.
#pragma once

#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/node_reports.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace cinnabar::tools::watch {

namespace look = hl::introspection;

struct State {
    std::chrono::steady_clock::time_point when;
    look::NodeReport node;
    std::vector<look::RpcReport> rpcs;
    std::vector<look::PeerReport> peers;
    std::vector<look::PeerTraffic> traffic;        // in the order of `peers`; of nodes of an earlier version, empty
    std::vector<look::PeerHistograms> histograms;  // as `traffic`; also empty unless Wanted::histograms
    std::vector<look::CallReport> calls;
    bool cut = false;  // a list had more than pages_max pages
};

struct Wanted {
    bool rpcs = true;
    bool peers = true;
    bool calls = true;
    bool histograms = false;  // of the times of the peers
};

inline constexpr unsigned pages_max = 64;  // per list

// Queries the node. Errors: those of the calls; for no_such_rpc and permission, the hint says what the node must allow.
[[nodiscard]] Result<State> ask(const hl::Connected& node, const Wanted& wanted, Microseconds deadline);

// A quantile of RpcReport's histograms, in microseconds; 0: nothing was counted.
[[nodiscard]] double quantile_us(const std::vector<std::uint64_t>& counts, double fraction);
// Returns the mean of the counted values, estimated from the middle of each bucket; 0: nothing was counted.
[[nodiscard]] double mean_us(const std::vector<std::uint64_t>& counts);
[[nodiscard]] std::uint64_t total(const std::vector<std::uint64_t>& counts);

}  // namespace cinnabar::tools::watch
