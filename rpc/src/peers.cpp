// SPDX-License-Identifier: BSD-3-Clause
// Receive slots of a connection: for requests see credit_pool.cpp; for replies, the origin reserves a slot before it
// sends the call (replies.hpp); for control messages there are two (control.hpp).
#include "peers.hpp"

#include "control.hpp"
#include "credit_pool.hpp"
#include "part_of.hpp"
#include "replies.hpp"
#include "send_queue.hpp"
#include "target.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t books_max = 1u << 20;

}  // namespace

Peers::Peers(ContextBase& base, const Parts& parts) noexcept
    : books(ThreadUse::one, books_max), base_(base), parts_(parts) {}

void Peers::set_listener(Context::PeerFunction function, void* user) noexcept { listener_.set(function, user); }

PeerBook* Peers::make(na::Peer& peer) noexcept {
    PeerBook* book = books.acquire();
    if (!book) return nullptr;
    book->base = &base_;
    book->peer = &peer;
    // The slot's last peer may have left these behind: one_way_sent a failed dial, the others a call that lent memory.
    book->one_way_sent = false;
    book->bytes_sent = 0;
    book->bytes_received = 0;
    book->verdicts.reset();
    book->counted.reset();
    book->strict = base_.transport_of(peer.port())->caps().counted_slots;
    peer.upper = book;
    peer.acquire();
    if (peer.state() == na::PeerState::connected) open(*book);
    return book;
}

void Peers::open(PeerBook& book) noexcept {
    if (book.open) return;
    book.open = true;
    book.opened = book.heard = base_.na->now_us();
    const std::uint32_t first = std::clamp(book.peer->initial_credits(), 1u, CreditAccount::budget_max);
    const std::uint32_t used = book.posted;  // requests that were posted before the connection was made
    book.credits = first > used ? first - used : 0;
    parts_.credits.open(book);
    ++connections_;
    book.control_unacked = false;
    book.owes_ack = false;
    if (base_.options.heartbeat.count() != 0 && book.sent != 0) watch(book);
    make_room();
}

// Deferred, because callers still use the book.
void Peers::drop_closed_if_idle(PeerBook& book) noexcept {
    if (!book.peer || book.dropping || !book.idle()) return;
    book.dropping = true;
    book.drop.user = &book;
    book.drop.run = bind<&Peers::drop>;
    if (base_.closed_) {
        book.drop.run(book.drop);
    } else {
        base_.na->submit(book.drop);
    }
}

void Peers::drop(PeerBook& book) noexcept {
    book.dropping = false;
    if (book.open || !book.idle()) return;
    na::Peer* peer = std::exchange(book.peer, nullptr);
    peer->upper = nullptr;
    parts_.replies.stop_waiting(book);
    books.release(book);
    peer->release();
}

void Peers::on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept {
    switch (event) {
        case na::PeerEvent::connected:
            if (auto* book = static_cast<PeerBook*>(peer.upper)) {
                open(*book);
                parts_.queue.pump(*book);
                parts_.control.flush(*book);
            }
            break;
        case na::PeerEvent::lost:
            base_.mover->peer_lost(peer, why == Errc::ok ? Errc::peer_lost : why);
            if (auto* book = static_cast<PeerBook*>(peer.upper)) close(*book, why == Errc::ok ? Errc::peer_lost : why);
            break;
        case na::PeerEvent::restarted:
            break;
    }
    if (!listener_.get().function) return;
    struct Notification {
        WorkItem work;
        Peers* part;
        na::Addr addr;
        na::PeerEvent event;
        Errc why;
    };
    auto* notice = new (std::nothrow) Notification{{}, this, peer.addr(), event, why};
    if (!notice) return;
    notice->work.user = notice;
    notice->work.run = [](WorkItem& work) noexcept {
        const std::unique_ptr<Notification> told(static_cast<Notification*>(work.user));
        const auto [tell, user] = told->part->listener_.get();
        if (tell) tell(told->addr, told->event, told->why, user);
    };
    base_.na->enqueue(notice->work);
}

bool Peers::add_up() noexcept {
    std::uint32_t pending = 0;
    std::uint32_t made = 0;
    std::uint32_t open = 0;
    std::uint32_t unsent = 0;
    bool each = true;
    books.for_each([&](const PeerBook& book) {
        if (!book.peer) return;
        pending += book.replies_pending;
        unsent += book.account.unsent();
        each &= account_adds_up(book);
        if (!book.open) return;
        ++open;
        made += book.account.budget();
    });
    return each && pending == parts_.replies.expected() && open == connections_ && parts_.replies.add_up() &&
           parts_.credits.adds_up(made, open, unsent);
}

// Whether granted + returnable + held equals the budget, where `held` is counted from the requests.
bool Peers::account_adds_up(const PeerBook& book) const noexcept {
    const CreditAccount& account = book.account;
    std::uint32_t requests_here = 0;
    std::uint32_t held = 0;
    std::uint64_t unfetched = 0;
    for (const Request* request = book.held.front(); request; request = PeerBook::Requests::next(*request)) {
        ++requests_here;
        if (!request->use_.orphaned && !request->use_.credit_returned) ++held;
        if (request->lend_) unfetched += request->large_output_.bytes();
    }
    const Request* const now = parts_.target.arriving();
    if (now && now->arriving_ && now->book_ == &book) {
        ++requests_here;
        ++held;
    }
    return account.granted() + account.returnable() + held == account.budget() && requests_here == account.requests() &&
           account.unsent() <= requests_here && book.unfetched_bytes == unfetched;
}

void Peers::stop() noexcept {
    books.for_each([this](PeerBook& book) {
        while (WorkItem* reply = book.unsent_replies.pop_front()) reply->run(*reply);
        base_.na->disarm(book.account.starved);
        base_.na->disarm(book.beat);
        base_.na->disarm(book.retry);
        book.looks_again = false;
    });
}

void Peers::release_all() noexcept {
    books.for_each([this](PeerBook& book) {
        if (!book.peer) return;
        book.open = false;
        book.users = 0;
        book.peer->upper = nullptr;
        std::exchange(book.peer, nullptr)->release();
        books.release(book);
    });
}

}  // namespace cinnabar::rpc
