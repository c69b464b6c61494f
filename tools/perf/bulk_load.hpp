// SPDX-License-Identifier: BSD-3-Clause
// Bulk transfers between memory of this process and of a server, in rounds: the memory of the side that sends is filled
// with a pattern of its own for each round, every slot of it is moved, which alone is timed, and then every byte is
// checked at the side that received.
#pragma once

#include "perf/histogram.hpp"
#include "perf/interval.hpp"
#include "perf/outcomes.hpp"
#include "perf/plan.hpp"
#include "perf/target.hpp"

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

namespace cinnabar::tools::perf {

enum class Direction : std::uint8_t {
    pull,  // the server reads from here
    push,  // the server writes to here
};
[[nodiscard]] std::string_view to_string(Direction direction) noexcept;

// The memory of this side.
enum class MemoryKind : std::uint8_t {
    exposed,    // the user's own
    allocated,  // by the library, which transports may share (NodeRef::allocate); of one segment
};
[[nodiscard]] std::string_view to_string(MemoryKind kind) noexcept;

struct BulkShape {
    std::uint64_t bytes = 1u << 20;  // of a transfer
    std::uint32_t segments = 1;      // of a transfer at this side; they do not touch
    std::uint32_t depth = 1;         // transfers in flight
    Direction direction = Direction::pull;
    MemoryKind memory = MemoryKind::exposed;
};

struct BulkResult {
    BulkShape shape;
    std::uint32_t slots = 0;         // transfers of a round
    std::vector<double> bandwidths;  // bytes a second, of each repeat; without rounds in which something failed
    Histogram latency;               // nanoseconds, of a transfer
    Outcomes outcomes;
    double seconds = 0;  // that were timed
    bool gave_up = false;
};

// Errors: nothing could be measured at all: invalid_argument (the size is no multiple of the segments), too_large,
// overloaded (the memory of the server), and those of calls. canceled: stopped.
[[nodiscard]] Result<BulkResult> run_bulk(const Target& target, const BulkShape& shape, const Plan& plan,
                                          const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
