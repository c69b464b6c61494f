// SPDX-License-Identifier: BSD-3-Clause
// Bulk transfers between this process and a server, in rounds. A round fills the sender's memory with a new pattern,
// transfers all slots, and verifies every byte at the receiver; only the transfers are timed.
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
    pull,  // the server reads this side's memory
    push,  // the server writes to this side's memory
};
[[nodiscard]] std::string_view to_string(Direction direction) noexcept;

// How this side's memory is made.
enum class MemoryKind : std::uint8_t {
    exposed,    // memory of the program
    allocated,  // by the library, in memory that transports can share (NodeRef::allocate); one segment
    file,       // a file without a name in the folder for temporary files; one segment
    device,     // of the first CUDA device; one segment
};
[[nodiscard]] std::string_view to_string(MemoryKind kind) noexcept;

struct BulkShape {
    std::uint64_t bytes = 1u << 20;  // per transfer
    std::uint32_t segments = 1;      // per transfer, on this side; not adjacent
    std::uint32_t depth = 1;         // transfers in flight
    Direction direction = Direction::pull;
    MemoryKind memory = MemoryKind::exposed;
};

struct BulkResult {
    BulkShape shape;
    std::uint32_t slots = 0;         // transfers per round
    std::vector<double> bandwidths;  // bytes per second of each repeat; excludes rounds with failures
    Histogram latency;               // of each transfer, in nanoseconds
    Outcomes outcomes;
    double seconds = 0;  // total time measured
    bool gave_up = false;
};

// Measures transfers of one shape. After an error nothing was measured. invalid_argument: the size is not a multiple of
// the number of segments; too_large; overloaded: the server has too little memory left; canceled: stopped. Also the
// errors of calls.
[[nodiscard]] Result<BulkResult> run_bulk(const Target& target, const BulkShape& shape, const Plan& plan,
                                          const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
