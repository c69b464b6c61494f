// SPDX-License-Identifier: BSD-3-Clause
// Fires the deadlines of calls. A call whose result is being pulled has a timer of its own (large_values_stall.cpp). A
// request has no timer: its handler checks the deadline, and its transfers have the same deadline.
#include "deadlines.hpp"

#include "origin.hpp"
#include "part_of.hpp"

namespace cinnabar::rpc {

Deadlines::Deadlines(ContextBase& base, Origin& origin) noexcept : base_(base), origin_(origin) {
    first_.bind<&Deadlines::look>(*this);
}

// Most calls have a later deadline than the call before. These calls form a queue with one timer, which is armed for
// the first of them. If the first call ends earlier, the timer stays armed; when it fires, the queue is checked again.
void Deadlines::watch(Call& call) noexcept {
    const TimeUs deadline = call.args.deadline;
    if (deadline == time_never) return;
    const Call* const last = calls_.back();
    if (last && deadline < last->args.deadline) return watch_alone(call);
    calls_.push_back(call);
    if (!first_.armed() || first_.expires > deadline) arm_first(deadline);
}

void Deadlines::arm_first(TimeUs deadline) noexcept {
    base_.na->disarm(first_);
    base_.na->arm(first_, deadline);
}

void Deadlines::watch_alone(Call& call) noexcept {
    call.whole_way_ = true;
    call.timer_.fire = bind<&Origin::time_out>;
    base_.na->arm(call.timer_, call.args.deadline);
}

void Deadlines::look() noexcept {
    const TimeUs now = base_.na->now_us();
    for (Call* first = calls_.front(); first; first = calls_.front()) {
        if (first->args.deadline > now) return base_.na->arm(first_, first->args.deadline);
        origin_.finish(*first, Errc::timed_out);
    }
}

void Deadlines::close() noexcept { base_.na->disarm(first_); }

}  // namespace cinnabar::rpc
