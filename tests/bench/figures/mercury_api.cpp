// SPDX-License-Identifier: BSD-3-Clause
// The cost of a call through mercury.h, compared with the same call in C++.
#include "../ours/mercury_api.hpp"

#include "../ours/ours.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

std::vector<Row> run_overhead(const Settings& settings) {
    const Contest contest{"mercury.overhead", "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 1.15},
                          "the same in C++"};
    return {run_contest(
        contest, [](const Settings& s) { return make_mercury_api_rpc(s.cores); },
        [](const Settings& s) {
            return make_our_rpc(s.cores, {mercury_api_payload_bytes, 1, false, Wire::shm});
        },
        settings)};
}

}  // namespace

std::vector<Figure> mercury_api_figures() { return {{"mercury.overhead", run_overhead}}; }

}  // namespace cinnabar::bench
