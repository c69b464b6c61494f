// SPDX-License-Identifier: BSD-3-Clause
// The end of a loan. When a call that lent memory ends without an answer, the target is asked to let go (the cancel),
// `released` is awaited for fence_grace, then the leases are taken by force; only then does the completion run.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

namespace cinnabar::rpc {

void ContextCore::begin_fence(Call& call) noexcept {
    if (!call.lends_) return;
    if (!call.awaiting_release_) return revoke_lends(call);
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& overdue = *static_cast<Call*>(timer.user);
        overdue.core_->release_came(overdue);
    };
    na->arm(call.timer_, after(na->now_us(), options.fence_grace));
}

// The target has let go, or has had its time.
void ContextCore::release_came(Call& call) noexcept {
    call.awaiting_release_ = false;
    na->disarm(call.timer_);
    revoke_lends(call);
    complete_if_over(call);
}

void ContextCore::revoke_lends(Call& call) noexcept {
    ++call.fences_;  // holds the completion until all of them were asked
    while (bulk::Lend* lend = call.lends_) {
        call.lends_ = lend->next;
        lend->next = nullptr;
        lend->holder = &call;
        lend->lease.fenced.user = lend;
        lend->lease.fenced.run = [](Work& work) noexcept {
            auto& fenced = *static_cast<bulk::Lend*>(work.user);
            Call& lender = *static_cast<Call*>(fenced.holder);
            if (!fenced.settle()) {
                lender.fence_failed_ = true;
                log(LogLevel::warning, "memory lent to %s stays in quarantine: the peer may still write to it",
                    lender.to_.to_string().c_str());
            }
            lender.core_->give_lend(fenced);
            --lender.fences_;
            lender.core_->complete_if_over(lender);
        };
        if (lend->revoke() == Errc::ok) {
            give_lend(*lend);
        } else {
            ++call.fences_;
        }
    }
    --call.fences_;
}

Errc Call::lend(const bulk::Region& region, na::Access access, Writer& writer) noexcept {
    CINNABAR_ASSERT(state_ == State::made);
    const bool eager = access == na::Access::read && region.bytes() <= core_->options.eager_bytes_max;
    if (eager) {
        // The descriptor must stand before its bytes are known: small enough to be gathered on the stack.
        std::byte copy[4096];
        const std::size_t bytes = std::min<std::size_t>(region.bytes(), sizeof copy);
        region.copy_out(0, Bytes(copy, bytes));
        bulk::describe({{}, {}, ConstBytes(copy, bytes)}, writer);
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    bulk::Lend* lend = core_->lends.acquire();
    if (!lend) return Errc::overloaded;
    Errc result = lend->grant(region, core_->transport_of(*port_), access);
    if (result == Errc::ok) {
        lend->next = lends_;
        lends_ = lend;
        na::Lease* const lease = &lend->lease;
        bulk::describe({{&lease, 1}, {}, {}}, writer);
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    core_->lends.release(*lend);
    return result;
}

std::size_t Call::lend_bytes(const bulk::Region& region, na::Access access) const noexcept {
    if (access == na::Access::read && region.bytes() <= core_->options.eager_bytes_max) {
        static constexpr std::byte none[1]{};
        return bulk::described_bytes({{}, {}, ConstBytes(none, 1)}) - 1 + region.bytes();
    }
    auto memory = region.memory_on(core_->transport_of(*port_));
    if (!memory) return 0;
    na::Lease lease;
    lease.memory = *memory;
    lease.offset = region.offset();
    lease.bytes = region.bytes();
    lease.access = access;
    na::Lease* const only = &lease;
    return bulk::described_bytes({{&only, 1}, {}, {}});
}

}  // namespace cinnabar::rpc
