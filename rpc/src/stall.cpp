// SPDX-License-Identifier: BSD-3-Clause
// A pull of large arguments or of a large result takes a part of a budget that others wait for. One of which nothing
// comes for stall_max, or less than pull_rate_min on the whole, is given up.
#include "context_core.hpp"

namespace cinnabar::rpc {

bool ContextCore::stalls(StallWatch& watch, const bulk::Transfer& pull) noexcept {
    const std::uint64_t done = pull.bytes_done();
    const TimeUs now = na->now_us();
    const auto grace = static_cast<TimeUs>(options.stall_max.count());
    const TimeUs taken = now - watch.began;
    const bool slow = taken > grace && done < (taken - grace) * options.pull_rate_min / 1'000'000;
    return watch.silence.lasts(done) || slow;
}

TimeUs ContextCore::next_stall_look() const noexcept {
    return after(na->now_us(), options.stall_max / bulk::Silence::looks);
}

void ContextCore::watch_pull(Request& request) noexcept {
    request.watch_ = {na->now_us(), {}};
    request.timer_.user = &request;
    request.timer_.fire = [](Timer& timer) noexcept {
        Request& watched = *static_cast<Request*>(timer.user);
        ContextCore& core = *watched.core_;
        if (!core.stalls(watched.watch_, *watched.pull_)) {
            return core.na->arm(timer, core.next_stall_look());
        }
        watched.stalled_ = true;
        core.mover->cancel(*watched.pull_);
    };
    na->arm(request.timer_, next_stall_look());
}

// Its timer is for the deadline as well.
void ContextCore::watch_pull(Call& call) noexcept {
    call.watch_ = {na->now_us(), {}};
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& watched = *static_cast<Call*>(timer.user);
        ContextCore& core = *watched.core_;
        const bool late = core.na->now_us() >= watched.args.deadline;
        if (late || core.stalls(watched.watch_, *watched.pull_)) return core.finish(watched, Errc::timed_out);
        core.na->arm(timer, std::min(watched.args.deadline, core.next_stall_look()));
    };
    forget_deadline(call);
    na->arm(call.timer_, std::min(call.args.deadline, next_stall_look()));
}

}  // namespace cinnabar::rpc
