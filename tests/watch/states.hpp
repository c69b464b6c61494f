// SPDX-License-Identifier: BSD-3-Clause
// Invented states.
#pragma once

#include "watch/state.hpp"

#include <cinnabar/rpc/snapshot.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools::watch {

inline look::RpcReport served(const std::string& name, std::uint64_t requests, std::uint64_t failed = 0) {
    look::RpcReport rpc;
    rpc.name = name;
    rpc.serving = 1;
    rpc.requests = requests;
    rpc.requests_failed = failed;
    rpc.serve_time = {0, 0, 0, requests};  // each call took 3 us
    return rpc;
}

inline look::CallReport waiting(const std::string& rpc, rpc::CallPhase phase, std::uint64_t age_us) {
    look::CallReport call;
    call.phase = static_cast<std::uint8_t>(phase);
    call.rpc = rpc;
    call.age_us = age_us;
    call.left_us = 30'000'000;
    call.scheme = "tcp";
    call.peer = "tcp://10.0.0.7:4000";
    return call;
}

inline look::PeerReport connected(const std::string& name) {
    look::PeerReport peer;
    peer.peer = name;
    peer.scheme = "tcp";
    peer.state = "connected";
    peer.credits = 3;
    peer.credits_given = 4;
    return peer;
}

// Calls of this node that were timed, with the sums of the parts of their time.
inline look::RpcReport timed(const std::string& name, std::uint64_t count, std::vector<std::uint64_t> parts_us) {
    look::RpcReport rpc;
    rpc.name = name;
    rpc.calls = count;
    rpc.call_time = {0, 0, 0, count};
    rpc.timed = count;
    rpc.parts_us = std::move(parts_us);
    return rpc;
}

inline look::FailureReport failure(const std::string& rpc, rpc::CallPhase phase, Errc error, std::uint64_t calls) {
    return {rpc, static_cast<std::uint8_t>(phase), static_cast<std::uint8_t>(error), calls};
}

inline void add_pool(State& state, const std::string& name, const look::PoolLoad& load) {
    const std::uint32_t queued = load.queued[0] + load.queued[1] + load.queued[2];
    state.node.pools.push_back({name, 4, queued, 100});
    state.node.pool_loads.push_back(load);
}

// `second`: the time since the first state.
inline State state_at(int second, std::vector<look::RpcReport> rpcs) {
    State state;
    state.when = std::chrono::steady_clock::time_point(std::chrono::seconds(100 + second));
    state.node.process = 42;
    state.node.up_us = static_cast<std::uint64_t>(second) * 1'000'000;
    state.node.processor_us = static_cast<std::uint64_t>(second) * 250'000;
    state.node.contexts.resize(2);
    state.node.contexts[0].connections = 3;
    state.node.contexts[1].connections = 4;
    state.rpcs = std::move(rpcs);
    return state;
}

}  // namespace cinnabar::tools::watch
