// SPDX-License-Identifier: BSD-3-Clause
// What a running node answers to those that may ask (NodeOptions::introspection): the calls and their results.
// `cinnabar top`, `cinnabar calls` and `cinnabar page` show it. Nothing is counted for it that is not counted anyway.
// It is not part of cinnabar.hpp.
//
// Answers are bounded: lists come in pages of at most 64, and a page takes a bounded number of steps. A list changes
// while it is read, so that an entry may be missing or come twice. Those who may not ask are answered `permission`.
#pragma once

#include <cinnabar/hl/rpc.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::hl {
namespace introspection {

// `from`: 0 at first, then Page::next. `count`: at most 64 are answered.
struct Ask {
    std::uint64_t from = 0;
    std::uint32_t count = 64;
};
template <typename T>
struct Page {
    std::vector<T> items;
    std::uint64_t next = 0;  // 0: this was the last page
};

struct ContextReport {  // rpc::Context::Counts, by name
    std::uint32_t calls = 0;
    std::uint32_t requests = 0;
    std::uint32_t peers = 0;
    std::uint32_t connections = 0;
    std::uint32_t queued = 0;
    std::uint32_t leases = 0;
    std::uint32_t quarantined = 0;
    std::uint32_t transfers = 0;
    std::uint32_t replies_owed = 0;
    std::uint32_t replies_unsent = 0;
    std::uint32_t completions = 0;  // that wait for a thread to run them
    std::uint64_t credits_given = 0;
    std::uint64_t large_bytes = 0;
    std::uint64_t decoded_bytes = 0;
    std::uint64_t sessions_ended = 0;
    std::uint64_t sleeps = 0;
};
struct TransportReport {
    std::string scheme;
    std::vector<std::string> endpoints;
    std::string diagnosis;  // as the node was opened
};
struct PoolReport {
    std::string name;
    std::uint32_t threads = 0;
    std::uint32_t queued = 0;
    std::uint32_t queue_max = 0;
};
struct LineReport {
    std::uint64_t age_us = 0;
    std::string level;
    std::string module;
    std::string text;
};
struct NodeReport {
    std::int32_t process = 0;
    std::uint32_t user = 0;
    std::uint64_t up_us = 0;
    std::uint64_t processor_us = 0;      // of the process: user and system time
    std::uint64_t memory_bytes_max = 0;  // the most that was resident
    std::uint64_t buffer_bytes = 0;      // of Node::buffers()
    bool draining = false;
    std::vector<ContextReport> contexts;
    std::vector<TransportReport> transports;
    std::vector<PoolReport> pools;
    std::vector<LineReport> lines;  // recent_log(), of the whole process
};

struct RpcReport {
    std::string name;
    std::uint32_t serving = 0;  // providers that serve it
    std::uint64_t calls = 0;
    std::uint64_t calls_failed = 0;
    std::uint64_t requests = 0;
    std::uint64_t requests_failed = 0;
    std::vector<std::uint64_t> call_time;  // Histogram::counts, without zeros at its end
    std::vector<std::uint64_t> serve_time;
    std::uint64_t timed = 0;              // calls of which it was told where their time went
    std::vector<std::uint64_t> parts_us;  // of these together, by CallPart (stats.hpp); empty where there are none
};

struct PeerReport {
    std::uint32_t context = 0;
    std::string peer;
    std::string scheme;
    std::string state;  // connected, connecting, idle, leaving
    std::uint32_t connections = 0;
    std::uint32_t credits = 0;
    std::uint32_t credits_given = 0;
    std::uint32_t calls_queued = 0;
    std::uint32_t calls_sent = 0;
    std::uint32_t requests = 0;
    std::uint32_t replies_unsent = 0;
    std::uint64_t large_bytes = 0;
    std::uint64_t decoded_bytes = 0;
    std::uint64_t silent_us = 0;  // since its last message
};

struct CallReport {
    std::uint32_t context = 0;
    bool as_target = false;
    std::uint8_t phase = 0;  // rpc::CallPhase
    std::string rpc;         // its name, or its id where this node has not heard the name
    std::uint32_t provider = 0;
    std::uint64_t id = 0;
    std::uint64_t age_us = 0;   // 0: not known
    std::uint64_t left_us = 0;  // until the deadline; time_never: none
    std::uint64_t bytes = 0;
    std::uint32_t credits = 0;
    std::uint32_t ahead = 0;
    std::string scheme;
    std::string peer;
};

inline constexpr Rpc<NodeReport()> node{"cinnabar.node"};
inline constexpr Rpc<Page<RpcReport>(Ask)> rpcs{"cinnabar.rpcs"};
inline constexpr Rpc<Page<PeerReport>(Ask)> peers{"cinnabar.peers"};
inline constexpr Rpc<Page<CallReport>(Ask)> calls{"cinnabar.calls"};

}  // namespace introspection
}  // namespace cinnabar::hl
