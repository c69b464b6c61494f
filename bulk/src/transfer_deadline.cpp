// SPDX-License-Identifier: BSD-3-Clause
// The deadline of a transfer, and the detection of one that is stuck: it has chunks in flight, and none completes.
#include "mover.hpp"

#include <cinnabar/bulk/silence.hpp>

#include <algorithm>

namespace cinnabar::bulk {
namespace {

// The slowest copy by a device that does not count as stalled. It shows no progress before its end.
constexpr std::uint64_t device_bytes_per_us_min = 256;

Microseconds stall_max_of(const TransferSlot& slot) noexcept {
    if (!slot.by_handle) return slot.stall_max;
    return slot.stall_max + Microseconds(slot.args.bytes / device_bytes_per_us_min);
}

}  // namespace

void Mover::Impl::watch(TransferSlot& slot) noexcept {
    TimeUs at = slot.args.deadline;
    if (slot.stall_max.count() > 0) at = std::min(at, after(context_.now_us(), stall_max_of(slot) / Silence::looks));
    if (at == time_never) return;
    slot.timer.fire = &on_watch;
    context_.arm(slot.timer, at);
}

// A transfer that waits for its turn has nothing in flight and does not count as stalled.
void Mover::Impl::on_watch(WheelTimer& timer) noexcept {
    TransferSlot& slot = TimerOf<TransferSlot>::owner_of(timer);
    Impl& mover = *slot.mover;
    if (slot.args.deadline <= mover.context_.now_us()) return mover.fail(slot, Errc::timed_out);
    if (slot.inflight_count == 0) {
        slot.silence.excuse(slot.moved());
    } else if (slot.stall_max.count() > 0 && slot.silence.lasts(slot.moved())) {
        slot.set_stalled(slot.error == Errc::ok);
        return mover.fail(slot, Errc::timed_out);
    }
    mover.watch(slot);
}

}  // namespace cinnabar::bulk
