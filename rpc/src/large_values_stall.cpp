// SPDX-License-Identifier: BSD-3-Clause
// Cancels a pull of large arguments or of a large result if nothing arrives for stall_max, or if its average rate is
// below pull_rate_min, because the pull takes up a part of a budget that others need.
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
    request.timer_.fire = bind<&LargeValues::look_at_input>;
    base_.na->arm(request.timer_, next_look());
}

void LargeValues::look_at_input(Request& request) noexcept {
    if (!stalls(request.watch_, *request.pull_)) return base_.na->arm(request.timer_, next_look());
    request.whole_.stalled = true;
    base_.mover->cancel(*request.pull_);
}

// The timer also enforces the deadline.
void LargeValues::watch(Call& call) noexcept {
    call.watch_ = {base_.na->now_us(), {}};
    call.timer_.fire = bind<&LargeValues::look_at_output>;
    parts_.deadlines.forget(call);
    base_.na->arm(call.timer_, std::min(call.args.deadline, next_look()));
}

void LargeValues::look_at_output(Call& call) noexcept {
    const bool late = base_.na->now_us() >= call.args.deadline;
    if (late || stalls(call.watch_, *call.pull_)) return parts_.origin.finish(call, Errc::timed_out);
    base_.na->arm(call.timer_, std::min(call.args.deadline, next_look()));
}

}  // namespace cinnabar::rpc
