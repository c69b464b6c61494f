// SPDX-License-Identifier: BSD-3-Clause
// The end of a loan. When a call that lent memory ends without an answer, the target is asked to let go (the cancel),
// `released` is awaited for fence_grace, then the leases are taken by force; only then does the completion run.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr Microseconds quarantine_look_interval{200'000};

}  // namespace

void ContextCore::begin_fence(Call& call) noexcept {
    if (!call.lends_ && !call.forwards_) return;
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
    const auto ended = [](void* holder, bool safe) noexcept {
        Call& lender = *static_cast<Call*>(holder);
        lender.fence_failed_ |= !safe;
        --lender.fences_;
        lender.core_->complete_if_over(lender);
    };
    // What was never sent nobody can know.
    PeerBook* const knows = call.was_sent_ ? call.book_ : nullptr;
    ++call.fences_;  // holds the completion until all of them were asked
    while (Loan* loan = call.lends_) {
        call.lends_ = loan->next;
        loan->next = nullptr;
        if (!take_back(*loan, knows, call.connection_, &call, ended)) ++call.fences_;
    }
    --call.fences_;
}

bool ContextCore::take_back(Loan& loan, PeerBook* peer, std::uint32_t connection, void* holder,
                            Loan::Ended ended) noexcept {
    // It runs where a context of the transport saw it first: on from there to this one.
    loan.fenced.run = [](Work& work) noexcept {
        Loan& fenced = static_cast<Loan&>(bulk::Lend::of(work));
        fenced.over.user = &fenced;
        fenced.over.run = [](Work& over) noexcept {
            Loan& finished = *static_cast<Loan*>(over.user);
            finished.core->fence_ended(finished);
        };
        fenced.core->hand_over(fenced.over);
    };
    loan.core = this;
    loan.holder = holder;
    loan.ended = ended;
    if (loan.revoke() == Errc::ok) {
        give_loan(loan);
        return true;
    }
    loan.peer = peer;
    if (peer) {
        loan.connection = connection;
        ++peer->users;
    }
    loan.fencing = true;
    ++fences;
    return false;
}

void ContextCore::fence_ended(Loan& loan) noexcept {
    const std::shared_ptr<ContextCore> alive = keep_alive;  // what ends may be the last that held it
    const PeerBook* const peer = loan.peer;
    const Loan::Ended ended = std::exchange(loan.ended, nullptr);
    // A peer whose connection of then is gone, or who was never told, cannot write to it any more. Others to whom it
    // was handed on can, which only the transport knows.
    const bool gone = !peer || peer->connection != loan.connection;
    const bool safe = !loan.quarantined() || (gone && !loan.is_accessed());
    loan.fencing = false;
    --fences;
    if (safe || !ended) {
        forget_loan(loan);
    } else {
        begin_quarantine(loan);
        if (gone) leave_without_peer(loan);
    }
    if (ended) ended(loan.holder, safe);
    go_if_over();
}

void ContextCore::forget_loan(Loan& loan) noexcept {
    if (loan.quarantined()) loan.forget();
    if (PeerBook* peer = std::exchange(loan.peer, nullptr)) {
        --peer->users;
        drop_book_if_idle(*peer);
    }
    give_loan(loan);
}

// The context closes: what was lent is taken back by force. Fences that take time need the ports, and get some.
void ContextCore::end_loans() noexcept {
    {
        const na::Context::Ownership ownership(*na);
        calls.for_each([this](Call& call) {
            if (call.awaiting_release_) release_came(call);
        });
        requests.for_each([this](Request& request) { result_released(request); });
    }
    // By rounds as well: a simulated clock stands while others are not driven.
    const TimeUs until = after(na->clock().now_us(), options.fence_grace);
    for (int rounds = 0; fences != 0 && rounds < 1000 && na->clock().now_us() < until; ++rounds) {
        (void)na->progress(Microseconds{1000});
        while (na->trigger(64) != 0) {
        }
    }
}

// The context is closed, and nobody would deliver the endings that wait for these: they count as failed.
void ContextCore::abandon_fences() noexcept {
    loans.for_each([](Loan& loan) {
        if (!loan.fencing) return;
        loan.peer = nullptr;  // the books go now
        if (const Loan::Ended ended = std::exchange(loan.ended, nullptr)) ended(loan.holder, false);
    });
}

void ContextCore::begin_quarantine(Loan& loan) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "rpc",
                "memory lent to %s stays in quarantine: the peer may still write to it",
                loan.peer ? loan.peer->peer->addr().log_name().c_str() : "nobody");
    loan.next = quarantined;
    quarantined = &loan;
    ++quarantined_count;
}

// Of one peer, unless somebody else accesses it; or of all, whoever does.
void ContextCore::end_quarantine(PeerBook* peer) noexcept {
    for (Loan** at = &quarantined; *at;) {
        Loan& loan = **at;
        const bool handed_on = peer && loan.peer == peer && loan.is_accessed();
        if (handed_on) leave_without_peer(loan);
        if (peer && loan.peer != peer) {
            at = &loan.next;
            continue;
        }
        *at = std::exchange(loan.next, nullptr);
        --quarantined_count;
        forget_loan(loan);
    }
}

// Nothing tells when the last access is over: it is looked for now and then.
void ContextCore::leave_without_peer(Loan& loan) noexcept {
    if (PeerBook* peer = std::exchange(loan.peer, nullptr)) {
        --peer->users;
        drop_book_if_idle(*peer);
    }
    if (closed_ || quarantine_look.armed()) return;
    na->arm(quarantine_look, after(na->now_us(), quarantine_look_interval));
}

void ContextCore::look_at_quarantine() noexcept {
    for (Loan** at = &quarantined; *at;) {
        Loan& loan = **at;
        if (loan.peer || loan.is_accessed()) {
            if (!loan.peer) leave_without_peer(loan);  // until the next look
            at = &loan.next;
            continue;
        }
        *at = std::exchange(loan.next, nullptr);
        --quarantined_count;
        forget_loan(loan);
    }
}

namespace {

// Memory in several segments is gathered on the stack.
constexpr std::size_t gathered_bytes_max = 4096;

bool goes_along(const bulk::Region& region, na::Access access, const Options& options) noexcept {
    if (region.is_far()) return false;
    if (access != na::Access::read || region.bytes() > options.eager_bytes_max) return false;
    return region.bytes() <= gathered_bytes_max || !region.contiguous().empty();
}

}  // namespace

std::shared_ptr<na::Transport> ContextCore::far_lender() noexcept {
    try {
        auto lender = engine.far_lender();
        if (lender) return *std::move(lender);
        log(LogLevel::warning, "rpc", "far memory cannot be lent: %s", lender.error().message().c_str());
    } catch (const std::bad_alloc&) {
    }
    return nullptr;
}

Errc Call::lend(const bulk::Region& region, na::Access access, Writer& writer) noexcept {
    CINNABAR_ASSERT(state_ == State::made);
    if (goes_along(region, access, core_->options)) {
        std::byte gathered[gathered_bytes_max];
        ConstBytes bytes = region.contiguous();
        if (bytes.empty()) {
            const Bytes copy(gathered, region.bytes());
            region.copy_out(0, copy);
            bytes = copy;
        }
        bulk::describe({{}, {}, bytes}, writer);
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    const std::shared_ptr<na::Transport> far = region.is_far() ? core_->far_lender() : nullptr;
    if (region.is_far() && !far) return Errc::unsupported;
    Loan* lend = core_->loans.acquire();
    if (!lend) return Errc::overloaded;
    whole_way_ = true;
    Errc result = lend->grant(region, access, far ? far : core_->transport_of(*port_));
    if (result == Errc::ok) {
        lend->next = lends_;
        lends_ = lend;
        na::Lease* const lease = &lend->lease();
        bulk::describe({{&lease, 1}, {}, {}, core_->home_of(*port_)}, writer);
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    core_->loans.release(*lend);
    return result;
}

std::uint64_t Call::lent_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (Loan* lend = lends_; lend; lend = lend->next) bytes += lend->lease().bytes;
    return bytes;
}

Errc Call::forward_memory(const bulk::RemoteRegion& remote, Writer& writer) noexcept {
    CINNABAR_ASSERT(state_ == State::made);
    whole_way_ = forwards_ = true;
    return bulk::forward(remote, writer);
}

std::size_t Call::lend_bytes(const bulk::Region& region, na::Access access) const noexcept {
    if (goes_along(region, access, core_->options)) {
        static constexpr std::byte none[1]{};
        return bulk::described_bytes({{}, {}, ConstBytes(none, 1)}) - 1 + region.bytes();
    }
    const std::shared_ptr<na::Transport> far = region.is_far() ? core_->far_lender() : nullptr;
    if (region.is_far() && !far) return 0;
    auto memory = region.memory_on(far ? far : core_->transport_of(*port_));
    if (!memory) return 0;
    na::Lease lease;
    lease.memory = *memory;
    lease.offset = region.offset();
    lease.bytes = region.bytes();
    lease.access = access;
    na::Lease* const only = &lease;
    return bulk::described_bytes({{&only, 1}, {}, {}, core_->home_of(*port_)});
}

}  // namespace cinnabar::rpc
