// SPDX-License-Identifier: BSD-3-Clause
#include "shared_clock.hpp"

#include "loop.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace cinnabar::hl {
namespace {

struct Simulated {
    std::mutex mutex;  // nodes on different clocks may be used by different threads
    std::vector<Loop*> loops;
};

Simulated& simulated() {
    static auto* all = new Simulated;  // outlives every static node
    return *all;
}

thread_local bool driving = false;

std::vector<Loop*> loops_on(const TimeSource* clock) {
    const std::lock_guard lock(simulated().mutex);
    std::vector<Loop*> found;
    for (Loop* loop : simulated().loops) {
        if (loop->simulated_clock() != clock) continue;
        loop->acquire();  // a handler may destroy another node
        found.push_back(loop);
    }
    return found;
}

}  // namespace

void join_clock(Loop& loop) {
    const std::lock_guard lock(simulated().mutex);
    simulated().loops.push_back(&loop);
}

void leave_clock(Loop& loop) noexcept {
    const std::lock_guard lock(simulated().mutex);
    std::erase(simulated().loops, &loop);
}

void drive_clock(Loop& loop, Microseconds timeout) {
    // With a timeout of 0 the clock would never move.
    const Microseconds wanted = std::max(timeout, Microseconds{1});
    if (driving) return loop.drive_alone(wanted);
    driving = true;
    for (Loop* each : loops_on(loop.simulated_clock())) {
        if (!each->leaving()) each->drive_alone(each == &loop ? wanted : sleep_max);
        each->release();
    }
    driving = false;
}

}  // namespace cinnabar::hl
