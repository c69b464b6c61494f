// SPDX-License-Identifier: BSD-3-Clause
#include "partial_messages.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

constexpr int checks_max = 8;  // of all of them, in a keepalive

}  // namespace

PartialMessages::PartialMessages(TcpPort& port) noexcept : port_(port) {
    timer_.owner = this;
    timer_.fire = [](Timer& timer) noexcept { TimerOf<PartialMessages>::owner_of(timer).check(); };
}

void PartialMessages::add(MessageLane& lane) noexcept {
    if (port_.options().keepalive.count() <= 0) return;
    lanes_.push_back(lane);
    ++count_;
    if (!timer_.armed()) port_.host().arm(timer_, lane.rest_due());
}

void PartialMessages::remove(MessageLane& lane) noexcept {
    if (!Lanes::linked(lane)) return;
    lanes_.remove(lane);
    --count_;
}

void PartialMessages::stop() noexcept { port_.host().disarm(timer_); }

void PartialMessages::check() noexcept {
    const TimeUs now = port_.host().now_us();
    for (std::size_t left = count_; left > 0 && !lanes_.empty(); --left) {
        MessageLane& lane = *lanes_.pop_front();
        --count_;
        if (lane.rest_due() > now) {
            lanes_.push_back(lane);
            ++count_;
        } else {
            lane.end_if_late();
        }
    }
    TimeUs next = time_never;
    for (const MessageLane* lane = lanes_.front(); lane; lane = Lanes::next(*lane)) {
        next = std::min(next, lane->rest_due());
    }
    port_.host().disarm(timer_);
    // So that many which were begun one after the other are not checked one after the other.
    const TimeUs soonest = after(now, port_.options().keepalive / checks_max);
    if (next != time_never) port_.host().arm(timer_, std::max(next, soonest));
    (void)port_.settle();
}

}  // namespace cinnabar::tcp
