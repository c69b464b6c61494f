// SPDX-License-Identifier: BSD-3-Clause
// A pull of large arguments or a large result uses a part of a budget that others need. It is canceled if nothing
// arrives for stall_max, or if its average rate is below pull_rate_min.
#include "context_core.hpp"

namespace cinnabar::rpc {

bool LargeValues::stalls(StallWatch& watch, const bulk::Transfer& pull) noexcept {
    const std::uint64_t done = pull.bytes_done();
    const TimeUs now = core_.na->now_us();
    const auto grace = static_cast<TimeUs>(core_.options.stall_max.count());
    const TimeUs taken = now - watch.began;
    const bool slow = taken > grace && done < (taken - grace) * core_.options.pull_rate_min / 1'000'000;
    return watch.silence.lasts(done) || slow;
}

TimeUs LargeValues::next_look() const noexcept {
    return after(core_.na->now_us(), core_.options.stall_max / bulk::Silence::looks);
}

void LargeValues::watch(Request& request) noexcept {
    request.watch_ = {core_.na->now_us(), {}};
    request.timer_.user = &request;
    request.timer_.fire = [](Timer& timer) noexcept {
        Request& watched = request_of(timer.user);
        ContextCore& core = *watched.core_;
        if (!core.large.stalls(watched.watch_, *watched.pull_)) {
            return core.na->arm(timer, core.large.next_look());
        }
        watched.whole_.stalled = true;
        core.mover->cancel(*watched.pull_);
    };
    core_.na->arm(request.timer_, next_look());
}

// The timer also enforces the deadline.
void LargeValues::watch(Call& call) noexcept {
    call.watch_ = {core_.na->now_us(), {}};
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& watched = call_of(timer.user);
        ContextCore& core = *watched.core_;
        const bool late = core.na->now_us() >= watched.args.deadline;
        if (late || core.large.stalls(watched.watch_, *watched.pull_))
            return core.origin.finish(watched, Errc::timed_out);
        core.na->arm(timer, std::min(watched.args.deadline, core.large.next_look()));
    };
    core_.deadlines.forget(call);
    core_.na->arm(call.timer_, std::min(call.args.deadline, next_look()));
}

}  // namespace cinnabar::rpc
