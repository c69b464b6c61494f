// SPDX-License-Identifier: BSD-3-Clause
// Measures calls from one or more clients to the echo service of a server.
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
    std::size_t payload_bytes = 64;  // in each direction
    std::uint32_t depth = 1;         // calls in flight per context; in an open loop, the maximum
    std::uint32_t contexts = 1;      // per client
    std::uint32_t clients = 1;       // number of nodes, each with its own connections
    std::uint32_t threads = 0;       // number of threads that drive the contexts; 0: one per context
    double rate = 0;                 // total calls per second; 0: a closed loop
    Arrivals arrivals = Arrivals::even;
};

struct CallResult {
    CallShape shape;
    std::vector<double> rates;  // successful calls per second, of each repeat
    std::vector<double> p50s;   // in nanoseconds, of each repeat
    std::vector<double> p99s;
    Histogram latency;                      // of all repeats; in an open loop, from the planned start
    std::optional<Histogram> from_sending;  // open loop only: from the time of sending
    Timeline timeline;
    // For the timed calls (rpc::CallArgs::timed): their number, and the sums of their phases by hl::CallPart.
    std::uint64_t timed = 0;
    hl::CallParts parts_us{};
    Outcomes outcomes;  // without the successful calls of the warm-up
    double seconds = 0;
    bool gave_up = false;  // too many failures in a row

    // Whether the server or this side could not sustain the rate of an open loop.
    [[nodiscard]] bool saturated() const;
};

// Errors mean that nothing could be measured; failed calls are counted in the result. canceled: stopped.
[[nodiscard]] Result<CallResult> run_calls(const Target& target, const CallShape& shape, const Plan& plan,
                                           const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
