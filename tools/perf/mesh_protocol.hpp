// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of `cinnabar perf mesh`, which make a server load other servers, by calls to their echo or by transfers with
// their memory. Any peer may send such a request to a server that runs with --mesh, so limits bound what one request
// can make the server do.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

inline constexpr std::uint64_t load_us_max = 60'000'000;  // of warm-up and measurement together, and of a call
inline constexpr std::size_t load_targets_max = 256;
inline constexpr std::uint32_t load_depth_max = 1024;
inline constexpr std::uint64_t load_size_max = 1u << 20;
// Of the calls to all targets together that are in flight at once.
inline constexpr std::uint64_t load_calls_max = 16'384;
inline constexpr std::uint64_t load_bytes_max = 64u << 20;

// Of the transfers with all targets together that are in flight at once: as much memory as the server has for them.
inline constexpr std::uint64_t bulk_load_bytes_max = 256u << 20;

inline constexpr unsigned load_latency_bits = 8;  // of Histogram: at most 0.8 % too long

struct LoadIn {
    std::uint64_t warm_up_us = 0;
    std::uint64_t measured_us = 0;
    std::uint64_t call_us = 0;  // the deadline of each call
    std::uint64_t size = 0;     // bytes of a call, in each direction
    std::uint32_t depth = 0;    // calls in flight to each target
    std::string transport;      // a scheme; empty: the best in each address
    std::vector<std::string> targets;
};

// Calls of the warm-up are not counted, except failed and wrong ones.
struct LoadPair {
    std::string transport;                 // in use; empty: none of this server reaches the target
    std::uint64_t done = 0;                // replies that came back right
    std::uint64_t done_within = 0;         // those that ended within the time measured
    std::uint64_t wrong = 0;               // replies with other bytes or another length
    std::vector<std::uint64_t> failed_by;  // by Errc
    std::uint8_t first_failure = 0;        // Errc
    bool gave_up = false;                  // ended early, after many failures in a row
    std::uint64_t checked_bytes = 0;       // bytes of replies compared, right and wrong
    std::string latency;                   // Histogram::encoded, of the calls done
};
struct LoadOut {
    std::vector<LoadPair> pairs;  // in the order of the targets
};
// Runs a load, and answers when the load has ended: at the latest after warm_up_us, measured_us and the deadline of a
// call. If the caller cancels or is lost, the load ends at once. permission: this server runs no load for others. busy:
// this server already runs a load. Also the errors of check_load().
inline constexpr hl::Rpc<LoadOut(LoadIn)> load_rpc{"cinnabar.perf.load"};

struct BulkLoadIn {
    std::uint64_t warm_up_us = 0;
    std::uint64_t measured_us = 0;
    std::uint64_t call_us = 0;  // the deadline of each transfer, and of each call that checks one
    std::uint64_t size = 0;     // bytes of a transfer
    std::uint32_t depth = 0;    // transfers in flight with each target
    bool push = false;          // the target writes to this server's memory; otherwise it reads it
    std::string transport;      // a scheme; empty: the best in each address
    std::vector<std::string> targets;
};
struct BulkLoadPair {
    LoadPair transfers;         // those that came back right, and so on; `done_within`: whenever they began
    std::uint64_t busy_us = 0;  // of the time measured, that in which a transfer was in flight
};
struct BulkLoadOut {
    std::vector<BulkLoadPair> pairs;  // in the order of the targets
    std::uint64_t busy_us = 0;        // the same, with any target
};
// Like load_rpc, but for transfers. A server runs only one load, of either kind, at a time. Answers at the latest after
// warm_up_us, measured_us and three deadlines of a call. no_such_rpc: the server is of an earlier version.
inline constexpr hl::Rpc<BulkLoadOut(BulkLoadIn)> bulk_load_rpc{"cinnabar.perf.bulk_load"};

// Check a request. invalid_argument: the request asks for nothing. too_large: a number is over its limit. Pure
// functions.
[[nodiscard]] Result<void> check_load(const LoadIn& in);
[[nodiscard]] Result<void> check_load(const BulkLoadIn& in);

}  // namespace cinnabar::tools::perf
