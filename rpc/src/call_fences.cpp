// SPDX-License-Identifier: BSD-3-Clause
#include "call_fences.hpp"

#include "fences.hpp"
#include "large_values.hpp"
#include "origin.hpp"
#include "part_of.hpp"
#include "target.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::rpc {

void CallFences::begin(Call& call) noexcept {
    if (!call.lends_ && !call.whole_.forwards && !call.whole_.shows_memory) return;
    if (!call.whole_.awaiting_release) return revoke_leases(call);
    call.timer_.fire = bind<&CallFences::not_released>;
    const Microseconds grace = call.whole_.shows_memory ? base_.options.shown_grace : base_.options.fence_grace;
    base_.na->arm(call.timer_, after(base_.na->now_us(), grace));
}

void CallFences::not_released(Call& call) noexcept {
    if (call.whole_.shows_memory) tell_shown(call);
    released(call);
}

void CallFences::give_up_copies(Call& call) noexcept { fences_.give_up_copies(&call); }

void CallFences::released(Call& call) noexcept {
    call.whole_.awaiting_release = false;
    base_.na->disarm(call.timer_);
    revoke_leases(call);
    origin_.complete_if_over(call);
}

void CallFences::revoke_leases(Call& call) noexcept {
    const auto ended = [](void* holder, bool safe) noexcept {
        Call& lender = call_of(holder);
        lender.whole_.fence_failed |= !safe;
        CallFences& part = part_of<CallFences>(lender);
        if (--lender.whole_.fences == 0) part.base_.na->disarm(lender.timer_);
        part.origin_.complete_if_over(lender);
    };
    // If the call was never sent, no peer knows of the memory.
    PeerBook* const knows = call.use_.was_sent ? call.book_ : nullptr;
    bool any_far = false;
    ++call.whole_.fences;  // prevents the completion until the revocation of all leases has begun
    while (RpcLend* lend = call.lends_) {
        call.lends_ = lend->next;
        lend->next = nullptr;
        if (fences_.take_back(*lend, knows, call.connection_, &call, ended)) continue;
        ++call.whole_.fences;
        any_far |= lend->is_far;
    }
    --call.whole_.fences;
    if (!any_far || call.whole_.fences == 0) return;
    call.timer_.fire = bind<&CallFences::give_up_copies>;
    base_.na->arm(call.timer_, after(base_.na->now_us(), base_.options.shown_grace));
}

void CallFences::tell_shown(Call& call) noexcept {
    call.whole_.fence_failed = true;
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "rpc", {peer_field(call.to_)},
                "%s may still copy memory of a device that it was shown: end that process before "
                "the memory is freed",
                call.to_.log_name().c_str());
}

// The number of rounds is limited as well, because a simulated clock stands still while other contexts are not driven.
template <typename F>
void CallFences::drive_while(F&& left) noexcept {
    const TimeUs until = after(base_.na->clock().now_us(), base_.options.fence_grace);
    for (int rounds = 0; left() && rounds < 1000 && base_.na->clock().now_us() < until; ++rounds) {
        (void)base_.na->progress(Microseconds{1000});
        base_.deliver_all();
    }
}

// Copies by a handle and fences get some time to end now, because both need the ports, which are closed next.
void CallFences::end_all() noexcept {
    drive_while([this] {
        const na::Context::Ownership ownership(*base_.na);
        bool any = false;
        origin_.calls.for_each(
            [&any](const Call& call) { any |= call.whole_.awaiting_release && call.whole_.shows_memory; });
        return any;
    });
    {
        const na::Context::Ownership ownership(*base_.na);
        origin_.calls.for_each([this](Call& call) {
            if (!call.whole_.awaiting_release) return;
            if (call.whole_.shows_memory) tell_shown(call);
            released(call);
        });
        target_.requests.for_each([this](Request& request) { large_values_.result_released(request); });
    }
    drive_while([this] { return fences_.in_progress() != 0; });
}

}  // namespace cinnabar::rpc
