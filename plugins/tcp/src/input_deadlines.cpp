// SPDX-License-Identifier: BSD-3-Clause
#include "input_deadlines.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

constexpr int checks_max = 8;  // per keepalive, for all lanes together
// The rest may take as long as `keepalive`, plus the time that the whole message takes at this rate.
constexpr std::size_t bytes_per_us_min = 1;

}  // namespace

InputDeadlines::InputDeadlines(TcpPort& port) noexcept : port_(port) { timer_.bind<&InputDeadlines::check>(*this); }

// A peer that is silent for `keepalive` counts as dead; a large message on a slow network gets more time.
TimeUs InputDeadlines::due(std::size_t bytes) const noexcept {
    const Microseconds keepalive = port_.options().keepalive;
    return keepalive.count() <= 0 ? time_never : after(port_.host().now_us(), keepalive) + bytes / bytes_per_us_min;
}

void InputDeadlines::changed(Lane& lane) noexcept {
    if (lane.rest_due() == time_never) return remove(lane);
    if (!Lanes::linked(lane)) {
        lanes_.push_back(lane);
        ++count_;
    }
    check_by(lane.rest_due());
}

// Limits the rate of checks: many parts that began one after the other are checked together.
void InputDeadlines::check_by(TimeUs due) noexcept {
    if (timer_.armed() && timer_.expires <= due) return;
    const TimeUs soonest = after(port_.host().now_us(), port_.options().keepalive / checks_max);
    const TimeUs when = std::max(due, soonest);
    if (timer_.armed() && timer_.expires <= when) return;
    port_.host().disarm(timer_);
    port_.host().arm(timer_, when);
}

void InputDeadlines::remove(Lane& lane) noexcept {
    if (!Lanes::linked(lane)) return;
    lanes_.remove(lane);
    --count_;
}

void InputDeadlines::stop() noexcept { port_.host().disarm(timer_); }

void InputDeadlines::check() noexcept {
    const TimeUs now = port_.host().now_us();
    for (std::size_t left = count_; left > 0 && !lanes_.empty(); --left) {
        Lane& lane = *lanes_.pop_front();
        lanes_.push_back(lane);
        if (lane.rest_due() <= now) lane.end_if_late();
    }
    TimeUs next = time_never;
    for (const Lane* each = lanes_.front(); each; each = Lanes::next(*each)) {
        next = std::min(next, each->rest_due());
    }
    port_.host().disarm(timer_);
    if (next != time_never) check_by(next);
    (void)port_.settle();
}

}  // namespace cinnabar::tcp
