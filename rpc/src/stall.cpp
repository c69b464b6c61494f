// SPDX-License-Identifier: BSD-3-Clause
// A pull of large arguments or a large result uses a part of a budget that others need. It is canceled if nothing
// arrives for stall_max, or if its average rate is below pull_rate_min.
#include "deadlines.hpp"
#include "large_values.hpp"
#include "origin.hpp"
#include "part_of.hpp"
#include "serving.hpp"

#include <algorithm>

namespace cinnabar::rpc {

bool LargeValues::stalls(StallWatch& watch, const bulk::Transfer& pull) noexcept {
    const std::uint64_t done = pull.bytes_done();
    const TimeUs now = base_.na->now_us();
    const auto grace = static_cast<TimeUs>(base_.options.stall_max.count());
    const TimeUs taken = now - watch.began;
    const bool slow = taken > grace && done < (taken - grace) * base_.options.pull_rate_min / 1'000'000;
    return watch.silence.lasts(done) || slow;
}

TimeUs LargeValues::next_look() const noexcept {
    return after(base_.na->now_us(), base_.options.stall_max / bulk::Silence::looks);
}

void LargeValues::watch(Request& request) noexcept {
    request.watch_ = {base_.na->now_us(), {}};
    request.timer_.user = &request;
    request.timer_.fire = [](Timer& timer) noexcept {
        Request& watched = request_of(timer.user);
        LargeValues& part = part_of<LargeValues>(watched);
        if (!part.stalls(watched.watch_, *watched.pull_)) return part.base_.na->arm(timer, part.next_look());
        watched.whole_.stalled = true;
        part.base_.mover->cancel(*watched.pull_);
    };
    base_.na->arm(request.timer_, next_look());
}

// The timer also enforces the deadline.
void LargeValues::watch(Call& call) noexcept {
    call.watch_ = {base_.na->now_us(), {}};
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& watched = call_of(timer.user);
        LargeValues& part = part_of<LargeValues>(watched);
        const bool late = part.base_.na->now_us() >= watched.args.deadline;
        if (late || part.stalls(watched.watch_, *watched.pull_))
            return part.parts_.origin.finish(watched, Errc::timed_out);
        part.base_.na->arm(timer, std::min(watched.args.deadline, part.next_look()));
    };
    parts_.deadlines.forget(call);
    base_.na->arm(call.timer_, std::min(call.args.deadline, next_look()));
}

}  // namespace cinnabar::rpc
