// SPDX-License-Identifier: BSD-3-Clause
// Fences of calls. When a call that lent memory ends without an answer, a cancel asks the target to release the memory,
// and `released` is awaited for fence_grace. Then the leases are revoked by force (fences.hpp), and only then the call
// completes. Memory that is shown by a handle has no leases: `released` is awaited for shown_grace, and then the fence
// has failed. Lent far memory is copied by this side; if a disk hangs, its fence fails after shown_grace, too.
#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::rpc {

void Origin::begin_fence(Call& call) noexcept {
    if (!call.lends_ && !call.whole_.forwards && !call.whole_.shows_memory) return;
    if (!call.whole_.awaiting_release) return revoke_lends(call);
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& overdue = call_of(timer.user);
        if (overdue.whole_.shows_memory) tell_shown(overdue);
        overdue.core_->origin.release_came(overdue);
    };
    const Microseconds grace = call.whole_.shows_memory ? core_.options.shown_grace : core_.options.fence_grace;
    core_.na->arm(call.timer_, after(core_.na->now_us(), grace));
}

// The target no longer uses the memory that the call lent, or fence_grace is over.
void Origin::release_came(Call& call) noexcept {
    call.whole_.awaiting_release = false;
    core_.na->disarm(call.timer_);
    revoke_lends(call);
    complete_if_over(call);
}

void Origin::revoke_lends(Call& call) noexcept {
    const auto ended = [](void* holder, bool safe) noexcept {
        Call& lender = call_of(holder);
        lender.whole_.fence_failed |= !safe;
        if (--lender.whole_.fences == 0) lender.core_->na->disarm(lender.timer_);
        lender.core_->origin.complete_if_over(lender);
    };
    // No peer knows of a call that was never sent.
    PeerBook* const knows = call.use_.was_sent ? call.book_ : nullptr;
    bool any_far = false;
    ++call.whole_.fences;  // prevents the completion until the revocation of all leases has begun
    while (RpcLend* lend = call.lends_) {
        call.lends_ = lend->next;
        lend->next = nullptr;
        if (core_.fences.take_back(*lend, knows, call.connection_, &call, ended)) continue;
        ++call.whole_.fences;
        any_far |= lend->is_far;
    }
    --call.whole_.fences;
    if (!any_far || call.whole_.fences == 0) return;
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& waiting = call_of(timer.user);
        waiting.core_->fences.give_up_copies(&waiting);
    };
    core_.na->arm(call.timer_, after(core_.na->now_us(), core_.options.shown_grace));
}

void Origin::tell_shown(Call& call) noexcept {
    call.whole_.fence_failed = true;
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "rpc", {peer_field(call.to_)},
                "%s may still copy memory of a device that it was shown: end that process before "
                "the memory is freed",
                call.to_.log_name().c_str());
}

// The number of rounds is limited as well, because a simulated clock stands still while other contexts are not driven.
template <typename F>
void Origin::drive_while(F&& left) noexcept {
    const TimeUs until = after(core_.na->clock().now_us(), core_.options.fence_grace);
    for (int rounds = 0; left() && rounds < 1000 && core_.na->clock().now_us() < until; ++rounds) {
        (void)core_.na->progress(Microseconds{1000});
        core_.deliver_all();
    }
}

// When the context closes: revokes all lent memory by force. Copies by a handle get some time to end, and so do fences,
// because they need the ports.
void Origin::end_lends() noexcept {
    drive_while([this] {
        const na::Context::Ownership ownership(*core_.na);
        bool any = false;
        calls.for_each([&any](const Call& call) { any |= call.whole_.awaiting_release && call.whole_.shows_memory; });
        return any;
    });
    {
        const na::Context::Ownership ownership(*core_.na);
        calls.for_each([this](Call& call) {
            if (!call.whole_.awaiting_release) return;
            if (call.whole_.shows_memory) tell_shown(call);
            release_came(call);
        });
        core_.target.requests.for_each([this](Request& request) { core_.large.result_released(request); });
    }
    drive_while([this] { return core_.fences.in_progress() != 0; });
}

}  // namespace cinnabar::rpc
