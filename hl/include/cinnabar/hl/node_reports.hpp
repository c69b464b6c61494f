// SPDX-License-Identifier: BSD-3-Clause
// The calls by which a running node reports its state to permitted callers (NodeOptions::introspection), and their
// results. `cinnabar top`, `cinnabar calls` and `cinnabar page` make these calls. The results contain counters that the
// node keeps anyway. Not part of cinnabar.hpp.
//
// Answers are bounded: a list comes in pages of at most 64 entries, and a page takes a bounded number of steps. A list
// may change between two pages, so an entry may be missing or appear twice. Callers that are not permitted are answered
// `permission`.
#pragma once

#include <cinnabar/hl/rpc.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::hl {
namespace introspection {

// `from`: 0 for the first page, then Page::next. `count`: entries wanted; an answer has at most 64.
struct Ask {
    std::uint64_t from = 0;
    std::uint32_t count = 64;
    bool histograms = false;  // of `peers`: fills PeerPage::histograms; nodes of an earlier version do not know it
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
    std::uint32_t replies_pending = 0;
    std::uint32_t replies_unsent = 0;
    std::uint32_t completions = 0;  // waiting for a thread to run them
    std::uint64_t credits_given = 0;
    std::uint64_t large_bytes = 0;
    std::uint64_t decoded_bytes = 0;
    std::uint64_t sessions_ended = 0;
    std::uint64_t sleeps = 0;
};
struct TransportReport {
    std::string scheme;
    std::vector<std::string> endpoints;
    // What the transport says about itself. Made once, when the node is opened, because the transport may read files
    // and wait for other processes to make the text, which would hold up the context that answers. So the text lacks
    // what becomes known later, such as how the sessions of shm copy.
    std::string diagnosis;
};
struct PoolReport {
    std::string name;
    std::uint32_t threads = 0;
    std::uint32_t queued = 0;
    std::uint32_t queue_max = 0;
};
struct PoolLoad {
    std::uint32_t running = 0;              // threads that run a handler
    std::uint32_t resumed = 0;              // handlers that have begun and wait for a thread
    std::array<std::uint32_t, 3> queued{};  // requests that have not begun, by Priority (pool.hpp)
};
struct ContextMemory {
    std::uint64_t large_bytes_kept = 0;   // freed memory of large arguments and results, kept for reuse
    std::uint64_t large_bytes_max = 0;    // rpc::Options::large_bytes_max
    std::uint64_t decoded_bytes_max = 0;  // rpc::Options::decoded_bytes_max
    std::uint32_t replies_kept = 0;       // receive slots that replies hold until their calls are released
};
struct LineReport {
    std::uint64_t age_us = 0;
    std::string level;
    std::string module;
    std::string text;
};
struct FailureReport {  // CallFailures, of one RPC
    std::string rpc;
    std::uint8_t phase = 0;  // rpc::CallPhase
    std::uint8_t error = 0;  // Errc
    std::uint64_t calls = 0;
};
inline constexpr std::size_t failures_max = 64;
struct NodeReport {
    std::int32_t process = 0;
    std::uint32_t user = 0;
    std::uint64_t up_us = 0;
    std::uint64_t processor_us = 0;      // user and system time of the process
    std::uint64_t memory_bytes_max = 0;  // peak resident memory
    std::uint64_t buffer_bytes = 0;      // of Node::buffers()
    bool draining = false;
    std::vector<ContextReport> contexts;
    std::vector<TransportReport> transports;
    std::vector<PoolReport> pools;
    std::vector<LineReport> lines;  // recent_log() of the whole process
    // Later additions, which nodes of an earlier version leave empty. In the order of `pools` and of `contexts`:
    std::vector<PoolLoad> pool_loads;
    std::vector<ContextMemory> context_memory;
    std::uint64_t buffer_bytes_max = 0;   // NodeOptions::buffer_bytes_max
    std::uint32_t shares = 0;             // memories that the node shares (share.hpp), or that are still in use as such
    std::vector<FailureReport> failures;  // calls of this node that failed: the failures_max most frequent kinds
};

struct RpcReport {
    std::string name;
    std::uint32_t serving = 0;  // providers that serve it
    std::uint64_t calls = 0;
    std::uint64_t calls_failed = 0;
    std::uint64_t requests = 0;
    std::uint64_t requests_failed = 0;
    std::vector<std::uint64_t> call_time;  // Histogram::counts without trailing zeros
    std::vector<std::uint64_t> serve_time;
    std::uint64_t timed = 0;              // calls that recorded their phases (NodeOptions::timed_one_in)
    std::vector<std::uint64_t> parts_us;  // sums over these calls, by CallPart (stats.hpp); empty if there are none
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
    std::uint64_t silent_us = 0;          // since its last message
    std::uint64_t timed = 0;              // calls to it that recorded their phases
    std::vector<std::uint64_t> parts_us;  // sums over them, by CallPart; empty if there are none
    std::uint64_t p50_us = 0;             // of these calls' time until the answer
    std::uint64_t p99_us = 0;
};

// How many bytes a peer and this node have exchanged since the node knows the peer, in messages and in transfers that
// this node made. Bytes that the peer itself reads or writes in lent memory are counted at the peer.
struct PeerTraffic {
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
};
struct PeerHistograms {
    // One list for each CallPart, and a last one for the whole time until the answer. The numbers of a list say how
    // many of the timed calls took 0 us, 1 us, 2 to 3 us, 4 to 7 us and so on. A list has at most 33 numbers, without
    // trailing zeros. There are no lists if no call was timed.
    std::vector<std::vector<std::uint64_t>> counts;
};
struct PeerPage {  // as Page
    std::vector<PeerReport> items;
    std::uint64_t next = 0;
    // Later additions, which nodes of an earlier version leave empty. In the order of `items`:
    std::vector<PeerTraffic> traffic;
    std::vector<PeerHistograms> histograms;  // empty unless asked for
};

struct CallReport {
    std::uint32_t context = 0;
    bool as_target = false;
    std::uint8_t phase = 0;  // rpc::CallPhase
    std::string rpc;         // its name, or its id if this node does not know the name
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
inline constexpr Rpc<PeerPage(Ask)> peers{"cinnabar.peers"};
inline constexpr Rpc<Page<CallReport>(Ask)> calls{"cinnabar.calls"};

}  // namespace introspection
}  // namespace cinnabar::hl
