// SPDX-License-Identifier: BSD-3-Clause
// Rows that all outputs share, made from a state: the node's pools, its memory, and where the time of its calls goes.
// Pure functions.
#pragma once

#include "watch/history.hpp"

#include <cinnabar/rpc/snapshot.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::watch {

struct PoolRow {
    std::string name;
    std::uint32_t threads = 0;
    std::uint32_t queued = 0;  // requests that have not begun
    std::uint32_t queue_max = 0;
    std::optional<look::PoolLoad> load;  // not reported by nodes of an earlier version
};
// Pools with the same name are separate rows.
[[nodiscard]] std::vector<PoolRow> pool_rows(const State& state);
// The names of the priorities, in the order of PoolLoad::queued.
inline constexpr std::array<std::string_view, 3> priority_names{"high", "normal", "low"};

struct MemoryRow {
    std::string_view what;
    std::string_view key;  // for scripts
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> max;
};
// Returns the memory of the whole node; a row has no limit if the node does not report one.
[[nodiscard]] std::vector<MemoryRow> memory_rows(const State& state);

// Where the time of one RPC goes. A row is either for the calls that this node makes, or (as_target) for the requests
// that this node serves; of such requests only the handler's time is known.
struct TimeRow {
    std::string name;
    bool as_target = false;
    std::uint64_t counted = 0;  // calls, or requests
    // The mean time of each part; as_target: only of CallPart::in_handler.
    std::array<double, hl::call_parts> parts_us{};

    [[nodiscard]] double sum_us() const noexcept;
    // The same times in five parts, for narrow screens: before the call left this node; on the wire, both directions
    // together; waiting for the handler; in the handler, with its transfers; waiting for the caller.
    [[nodiscard]] std::array<double, 5> coarse_us() const noexcept;
    [[nodiscard]] hl::CallPart longest() const noexcept;
    [[nodiscard]] bool has(hl::CallPart part) const noexcept { return !as_target || part == hl::CallPart::in_handler; }
};
// Returns the rows, the slowest first. An RPC may have a row as origin and a row as target.
[[nodiscard]] std::vector<TimeRow> time_rows(const std::vector<RpcRow>& rpcs);

// The calls of the node that failed in the same phase with the same error.
struct FailureRow {
    std::string name;  // of the RPC
    std::string_view phase;
    std::string_view error;
    std::uint64_t calls = 0;
};
// Returns the rows, the most frequent failures first.
[[nodiscard]] std::vector<FailureRow> failure_rows(const State& state);

// The calls in progress that are in the same phase.
struct UnderWay {
    std::string name;  // of the RPC
    bool as_target = false;
    rpc::CallPhase phase = rpc::CallPhase::unknown;
    std::uint64_t calls = 0;
    std::uint64_t oldest_us = 0;  // 0: not known
};
// Returns the rows, the row with the oldest call first.
[[nodiscard]] std::vector<UnderWay> under_way(const State& state);

}  // namespace cinnabar::tools::watch
