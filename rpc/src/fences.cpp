// SPDX-License-Identifier: BSD-3-Clause
#include "fences.hpp"

#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr Microseconds quarantine_look_interval{200'000};

}  // namespace

Fences::Fences(ContextCore& core, Threads threads, std::uint32_t lends_max) noexcept
    : core_(core), loans_(threads, lends_max) {
    look_.owner = this;
    look_.fire = [](Timer& timer) noexcept { TimerOf<Fences>::owner_of(timer).look_at_quarantine(); };
}

bool Fences::take_back(Loan& loan, PeerBook* peer, std::uint32_t connection, void* holder, Loan::Ended ended) noexcept {
    // Runs in whichever context of the transport saw the end first; from there it is handed over to this one.
    loan.fenced.run = [](Work& work) noexcept {
        Loan& fenced = static_cast<Loan&>(bulk::Lend::of(work));
        fenced.over.user = &fenced;
        fenced.over.run = [](Work& over) noexcept {
            Loan& finished = *static_cast<Loan*>(over.user);
            finished.fences->fence_ended(finished);
        };
        fenced.fences->core_.hand_over(fenced.over);
    };
    loan.fences = this;
    loan.holder = holder;
    loan.ended = ended;
    if (loan.revoke() == Errc::ok) {
        release(loan);
        return true;
    }
    loan.peer = peer;
    if (peer) {
        loan.connection = connection;
        ++peer->users;
    }
    loan.fencing = true;
    ++in_progress_;
    return false;
}

void Fences::fence_ended(Loan& loan) noexcept {
    const std::shared_ptr<ContextCore> alive = core_.keep_alive;  // this may be the last fence that kept it alive
    const PeerBook* const peer = loan.peer;
    const Loan::Ended ended = std::exchange(loan.ended, nullptr);
    // A peer that was never told of the memory, or only on a connection that is lost, cannot write to it any more.
    // Others to which it was forwarded may; only the transport knows.
    const bool gone = !peer || peer->connection != loan.connection;
    const bool safe = !loan.quarantined() || (gone && !loan.is_accessed());
    loan.fencing = false;
    --in_progress_;
    if (safe || !ended) {
        forget(loan);
    } else {
        begin_quarantine(loan);
        if (gone) wait_for_others(loan);
    }
    if (ended) ended(loan.holder, safe);
    core_.go_if_over();
}

void Fences::leave_peer(Loan& loan) noexcept {
    if (PeerBook* peer = std::exchange(loan.peer, nullptr)) {
        --peer->users;
        core_.drop_book_if_idle(*peer);
    }
}

void Fences::forget(Loan& loan) noexcept {
    if (loan.quarantined()) loan.forget();
    leave_peer(loan);
    release(loan);
}

void Fences::abandon() noexcept {
    core_.na->disarm(look_);
    loans_.for_each([](Loan& loan) {
        if (!loan.fencing) return;
        loan.peer = nullptr;  // the books are released next
        if (const Loan::Ended ended = std::exchange(loan.ended, nullptr)) ended(loan.holder, false);
    });
}

void Fences::begin_quarantine(Loan& loan) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "rpc",
                "memory lent to %s stays in quarantine: the peer may still write to it",
                loan.peer ? loan.peer->peer->addr().log_name().c_str() : "nobody");
    loan.next = quarantined_;
    quarantined_ = &loan;
    ++quarantined_count_;
}

template <typename F>
void Fences::forget_if(F&& over) noexcept {
    for (Loan** at = &quarantined_; *at;) {
        Loan& loan = **at;
        if (!over(loan)) {
            at = &loan.next;
            continue;
        }
        *at = std::exchange(loan.next, nullptr);
        --quarantined_count_;
        forget(loan);
    }
}

void Fences::end_quarantine(PeerBook& peer) noexcept {
    forget_if([this, &peer](Loan& loan) {
        if (loan.peer != &peer) return false;
        if (!loan.is_accessed()) return true;
        wait_for_others(loan);
        return false;
    });
}

void Fences::end_quarantine() noexcept {
    forget_if([](Loan&) { return true; });
}

// Nothing reports the end of the last access, so it is looked for now and then.
void Fences::wait_for_others(Loan& loan) noexcept {
    leave_peer(loan);
    if (core_.closed_ || look_.armed()) return;
    core_.na->arm(look_, after(core_.na->now_us(), quarantine_look_interval));
}

void Fences::look_at_quarantine() noexcept {
    forget_if([this](Loan& loan) {
        if (loan.peer) return false;
        if (!loan.is_accessed()) return true;
        wait_for_others(loan);  // until the next look
        return false;
    });
}

}  // namespace cinnabar::rpc
