// SPDX-License-Identifier: BSD-3-Clause
#include "support/pump.hpp"

#include <cinnabar/plugins/sim.hpp>

#include <algorithm>

namespace cinnabar::support {

unsigned Pump::round() {
    unsigned done = 0;
    for (na::Context* context : contexts_) {
        done += context->progress(Microseconds(0));
        done += context->trigger(64);
    }
    return done;
}

bool Pump::move_time(TimeUs until) {
    TimeUs next = world_->next_event_us();
    for (const na::Context* context : contexts_) next = std::min(next, context->next_timer_us());
    if (next == time_never && until == time_never) return false;
    world_->run_to(std::min(next, until));
    return true;
}

bool Pump::step() { return round() != 0 || !world_ || move_time(time_never); }

bool Pump::until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        if (done()) return true;
        if (round() != 0) continue;
        if (done()) return true;
        if (world_ && !move_time(time_never)) return false;
        if (std::chrono::steady_clock::now() > end) return false;
    }
}

void Pump::run_for(Microseconds span) {
    if (contexts_.empty() || !world_) {
        const TimeUs end = after(steady_clock().now_us(), span);
        while (steady_clock().now_us() < end) (void)round();
        return;
    }
    const TimeUs end = after(world_->now_us(), span);
    for (;;) {
        if (round() != 0) continue;
        if (world_->now_us() >= end) return;
        (void)move_time(end);
    }
}

}  // namespace cinnabar::support
