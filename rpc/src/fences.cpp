// SPDX-License-Identifier: BSD-3-Clause
#include "fences.hpp"

#include "part_of.hpp"
#include "peers.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/bulk/far_lender.hpp>

#include <string>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr Microseconds quarantine_look_interval{200'000};

}  // namespace

template <>
Fences& part_of<Fences>(const RpcLend& lend) noexcept {
    return *lend.fences;
}

Fences::Fences(ContextBase& base, Peers& peers, ThreadUse threads, std::uint32_t lends_max) noexcept
    : base_(base), peers_(peers), lends_(threads, lends_max) {
    look_.bind<&Fences::look_at_quarantine>(*this);
}

void Fences::give_back(RpcLend& lend) noexcept {
    lend.lent_to->give_back_lease(lend.charged_bytes);
    lend.lent_to.reset();
}

bool Fences::take_back(RpcLend& lend, PeerBook* peer, std::uint32_t connection, void* holder,
                       RpcLend::Ended ended) noexcept {
    // Runs in the context of the transport that first saw the fence end, and submits the rest to this context.
    lend.fenced.run = [](WorkItem& work) noexcept {
        RpcLend& fenced = static_cast<RpcLend&>(bulk::Lend::of(work));
        fenced.over.user = &fenced;
        fenced.over.run = bind<&Fences::fence_ended>;
        fenced.fences->base_.hand_over(fenced.over);
    };
    lend.fences = this;
    lend.holder = holder;
    lend.ended = ended;
    lend.is_far = lend.region().is_far();
    if (lend.revoke() == Errc::ok) {
        release(lend);
        return true;
    }
    lend.peer = peer;
    if (peer) {
        lend.connection = connection;
        ++peer->users;
    }
    lend.fencing = true;
    ++in_progress_;
    return false;
}

void Fences::give_up_copies(const void* holder) noexcept {
    const auto lender = base_.engine.far_lender();
    if (!lender) return;
    lends_.for_each([holder, &lender](RpcLend& lend) {
        if (lend.fencing && lend.is_far && lend.holder == holder) (*lender)->give_up(lend.lease());
    });
}

void Fences::fence_ended(RpcLend& lend) noexcept {
    const std::shared_ptr<ContextCore> alive = base_.keep_alive;  // this may be the last fence that keeps it alive
    const PeerBook* const peer = lend.peer;
    const RpcLend::Ended ended = std::exchange(lend.ended, nullptr);
    // A peer that was never told of the memory, or only on a connection that was lost, cannot access the memory. Peers
    // to which the memory was forwarded may still access it; only the transport knows. Far memory is copied by this
    // side alone.
    const bool gone = !peer || peer->connection != lend.connection || lend.is_far;
    const bool safe = !lend.quarantined() || (gone && !lend.is_accessed());
    lend.fencing = false;
    --in_progress_;
    if (safe || !ended) {
        forget(lend);
    } else {
        begin_quarantine(lend);
        if (gone) wait_for_others(lend);
    }
    if (ended) ended(lend.holder, safe);
    base_.go_if_over();
}

void Fences::leave_peer(RpcLend& lend) noexcept {
    if (PeerBook* peer = std::exchange(lend.peer, nullptr)) {
        --peer->users;
        peers_.drop_if_idle(*peer);
    }
}

void Fences::forget(RpcLend& lend) noexcept {
    if (lend.quarantined()) lend.forget();
    leave_peer(lend);
    release(lend);
}

void Fences::abandon() noexcept {
    base_.na->disarm(look_);
    lends_.for_each([](RpcLend& lend) {
        if (!lend.fencing) return;
        lend.peer = nullptr;  // the books are released next
        if (const RpcLend::Ended ended = std::exchange(lend.ended, nullptr)) ended(lend.holder, false);
    });
}

void Fences::begin_quarantine(RpcLend& lend) noexcept {
    const auto peer = lend.peer ? lend.peer->peer->addr().log_name() : std::string("(no peer)");
    if (lend.is_far) {
        static constinit LogLimit copies;
        log_limited(copies, LogLevel::warning, "rpc", {peer_field(peer), bytes_field(lend.lease().bytes)},
                    "a file or device memory lent to %s stays in quarantine: a copy of it does not end", peer.c_str());
    } else {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "rpc", {peer_field(peer), bytes_field(lend.lease().bytes)},
                    "memory lent to %s stays in quarantine: the peer may still write to it", peer.c_str());
    }
    lend.next = quarantined_;
    quarantined_ = &lend;
    ++quarantined_count_;
}

template <typename F>
void Fences::forget_if(F&& over) noexcept {
    for (RpcLend** at = &quarantined_; *at;) {
        RpcLend& lend = **at;
        if (!over(lend)) {
            at = &lend.next;
            continue;
        }
        *at = std::exchange(lend.next, nullptr);
        --quarantined_count_;
        forget(lend);
    }
}

void Fences::end_quarantine(PeerBook& peer) noexcept {
    forget_if([this, &peer](RpcLend& lend) {
        if (lend.peer != &peer) return false;
        if (!lend.is_accessed()) return true;
        wait_for_others(lend);
        return false;
    });
}

void Fences::end_quarantine() noexcept {
    forget_if([](RpcLend&) { return true; });
}

// Nothing reports the end of the last access, so it is checked periodically.
void Fences::wait_for_others(RpcLend& lend) noexcept {
    leave_peer(lend);
    if (base_.closed_ || look_.armed()) return;
    base_.na->arm(look_, after(base_.na->now_us(), quarantine_look_interval));
}

void Fences::look_at_quarantine() noexcept {
    forget_if([this](RpcLend& lend) {
        if (lend.peer) return false;
        if (!lend.is_accessed()) return true;
        wait_for_others(lend);  // until the next check
        return false;
    });
}

}  // namespace cinnabar::rpc
