// SPDX-License-Identifier: BSD-3-Clause
// Calls from one or more clients to the echo of a server, for the time of a plan.
#pragma once

#include "perf/histogram.hpp"
#include "perf/interval.hpp"
#include "perf/outcomes.hpp"
#include "perf/plan.hpp"
#include "perf/schedule.hpp"
#include "perf/target.hpp"
#include "perf/timeline.hpp"

#include <cinnabar/hl/stats.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

namespace cinnabar::tools::perf {

struct CallShape {
    std::size_t payload_bytes = 64;  // each way
    std::uint32_t depth = 1;         // in flight, of each context; of an open loop at most
    std::uint32_t contexts = 1;      // of each client
    std::uint32_t clients = 1;       // nodes, with connections of their own
    std::uint32_t threads = 0;       // that drive all contexts; 0: one for each
    double rate = 0;                 // calls a second, of all together; 0: a closed loop
    Arrivals arrivals = Arrivals::even;
};

struct CallResult {
    CallShape shape;
    std::vector<double> rates;  // calls a second that ended well, of each repeat
    std::vector<double> p50s;   // nanoseconds, of each repeat
    std::vector<double> p99s;
    Histogram latency;                      // of all repeats; of an open loop from the planned start
    std::optional<Histogram> from_sending;  // open loop
    Timeline timeline;
    // For the calls that were timed (rpc::CallArgs::timed): where their time went, as sums by hl::CallPart.
    std::uint64_t timed = 0;
    hl::CallParts parts_us{};
    Outcomes outcomes;  // without those of the warm-up that ended well
    double seconds = 0;
    bool gave_up = false;  // too many failures in a row

    // Of an open loop: the server, or this side, did not keep pace.
    [[nodiscard]] bool saturated() const;
};

// Errors: nothing could be measured at all. Calls that fail are counted in the result. canceled: stopped.
[[nodiscard]] Result<CallResult> run_calls(const Target& target, const CallShape& shape, const Plan& plan,
                                           const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
