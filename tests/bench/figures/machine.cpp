// SPDX-License-Identifier: BSD-3-Clause
// The limits by themselves: the capabilities of this machine, and how steady it is (the ratio is of a limit to itself).
// The table shows them for orientation; they have no bar.
#include "../limits/limits.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

constexpr std::size_t mebibyte = 1 << 20;
constexpr FrameBytes bare_frame{64, 64};

Figure machine_figure(Contest contest, const MakeSubject& make) {
    contest.limit_name = "a second instance of itself";
    return {contest.name, [contest, make](const Settings& settings) {
                return std::vector{run_contest(contest, make, make, settings)};
            }};
}

}  // namespace

std::vector<Figure> machine_figures() {
    constexpr auto rtt = Metric::seconds_per_work;
    constexpr auto rate = Metric::work_per_second;
    return {
        machine_figure({"machine.tcp.rtt.spin", "us", 1e6, rtt, {}, {}},
                       [](const Settings& s) { return make_spinning_ping_pong(s.cores, bare_frame); }),
        machine_figure({"machine.tcp.rtt.sleep", "us", 1e6, rtt, {}, {}},
                       [](const Settings& s) { return make_sleeping_ping_pong(s.cores, bare_frame); }),
        machine_figure({"machine.tcp.rate.64", "kcalls/s", 1e-3, rate, {}, {}},
                       [](const Settings& s) { return make_batched_ping_pong(s.cores, bare_frame, 64); }),
        machine_figure({"machine.tcp.stream.1m", "MB/s", 1e-6, rate, {}, {}},
                       [](const Settings& s) { return make_stream(s.cores, Direction::to_server, mebibyte, 8); }),
        machine_figure({"machine.memcpy.1m", "MB/s", 1e-6, rate, {}, {}},
                       [](const Settings& s) { return make_memory_copy(s.cores, mebibyte); }),
        machine_figure({"machine.cma.1m", "MB/s", 1e-6, rate, {}, {}},
                       [](const Settings& s) { return make_cross_memory_copy(s.cores, mebibyte); }),
    };
}

}  // namespace cinnabar::bench
