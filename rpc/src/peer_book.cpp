// SPDX-License-Identifier: BSD-3-Clause
// The book of a peer: opened with its connection, closed when that is lost (lost_connection.cpp), released when idle.
//
// Slots for requests: credits.cpp. Replies: the origin reserves a slot of its own before it sends. Control: two slots
// for each connection (control.cpp).
#include "context_core.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
PeerBook* ContextCore::make_book(na::Peer& peer) noexcept {
    PeerBook* book = books.acquire();
    if (!book) return nullptr;
    book->core = this;
    book->peer = &peer;
    book->one_way_sent = false;  // of a dial that the slot's last peer gave up
    book->strict = transport_of(peer.port())->caps().counted_slots;
    peer.upper = book;
    peer.acquire();
    if (peer.state() == na::PeerState::connected) open_book(*book);
    return book;
}

void ContextCore::open_book(PeerBook& book) noexcept {
    if (book.open) return;
    book.open = true;
    book.heard = na->now_us();
    const std::uint32_t first = std::clamp(book.peer->initial_credits(), 1u, Credits::budget_max);
    const std::uint32_t used = book.posted;  // went ahead to dial
    book.credits = first > used ? first - used : 0;
    book.account.open(first_credits(), peer_unsent_max);
    budgets += book.account.budget();
    ++connections;
    book.control_unacked = false;
    book.owes_ack = false;
    if (options.heartbeat.count() != 0 && book.sent != 0) watch_peer(book);
    make_room();
}

// Deferred, because callers are in the middle of the book.
void ContextCore::drop_closed_book_if_idle(PeerBook& book) noexcept {
    if (!book.peer || book.dropping || !book.idle()) return;
    book.dropping = true;
    book.drop.user = &book;
    book.drop.run = [](Work& work) noexcept {
        PeerBook& idle = *static_cast<PeerBook*>(work.user);
        ContextCore& core = *idle.core;
        idle.dropping = false;
        if (idle.open || !idle.idle()) return;
        na::Peer* peer = std::exchange(idle.peer, nullptr);
        peer->upper = nullptr;
        if (idle.reply_waiter.linked) core.reply_waiters.remove(idle);
        core.books.release(idle);
        peer->release();
    };
    if (closed_) {
        book.drop.run(book.drop);
    } else {
        na->submit(book.drop);
    }
}

void ContextCore::on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept {
    switch (event) {
        case na::PeerEvent::connected:
            if (auto* book = static_cast<PeerBook*>(peer.upper)) {
                open_book(*book);
                pump(*book);
                flush_control(*book);
            }
            break;
        case na::PeerEvent::lost:
            mover->peer_lost(peer, why == Errc::ok ? Errc::peer_lost : why);
            if (auto* book = static_cast<PeerBook*>(peer.upper))
                close_book(*book, why == Errc::ok ? Errc::peer_lost : why);
            break;
        case na::PeerEvent::restarted:
            break;
    }
    const Context::PeerFunction function = peer_function.load();
    if (!function) return;
    struct Notification {
        Work work;
        ContextCore* core;
        na::Addr addr;
        na::PeerEvent event;
        Errc why;
    };
    auto* notice = new (std::nothrow) Notification{{}, this, peer.addr(), event, why};
    if (!notice) return;
    notice->work.user = notice;
    notice->work.run = [](Work& work) noexcept {
        const std::unique_ptr<Notification> told(static_cast<Notification*>(work.user));
        if (const Context::PeerFunction tell = told->core->peer_function.load()) {
            tell(told->addr, told->event, told->why, told->core->peer_user.load());
        }
    };
    na->enqueue(notice->work);
}

// For debug builds: the sums that are kept along the way are those of the books.
bool ContextCore::books_add_up() noexcept {
    std::uint32_t owed = 0;
    std::uint32_t made = 0;
    std::uint32_t open = 0;
    std::uint32_t unsent = 0;
    bool each = true;
    books.for_each([&](const PeerBook& book) {
        if (!book.peer) return;
        owed += book.replies_owed;
        unsent += book.account.unsent();
        each &= account_adds_up(book);
        if (!book.open) return;
        ++open;
        made += book.account.budget();
    });
    const std::uint32_t first = open * first_credits();
    const std::uint32_t grown = made - std::min(made, first);
    return each && owed == replies_owed && unsent == replies_unsent && made == budgets && open == connections &&
           grown <= request_slots_max && replies_owed + replies_kept <= replies_owed_max;
}

// granted + returnable + held is the budget, where held is what the requests that are here say.
bool ContextCore::account_adds_up(const PeerBook& book) noexcept {
    const Credits& account = book.account;
    std::uint32_t requests_here = 0;
    std::uint32_t held = 0;
    std::uint64_t unfetched = 0;
    for (const Request* request = book.held.front(); request; request = PeerBook::Requests::next(*request)) {
        ++requests_here;
        if (!request->orphaned_ && !request->credit_returned_) ++held;
        if (request->lend_) unfetched += request->large_output_.bytes();
    }
    const Request* const now = book.core->at_hand;
    if (now && now->arriving_ && now->book_ == &book) {
        ++requests_here;
        ++held;
    }
    return account.granted() + account.returnable() + held == account.budget() && requests_here == account.requests() &&
           account.unsent() <= requests_here && book.unfetched_bytes == unfetched;
}

void ContextCore::add_credits(PeerBook& book, std::uint32_t credits) noexcept {
    if (!book.open) return;
    book.credits += credits;
}

}  // namespace cinnabar::rpc
