// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing the books of a peer, and the credits in them.
//
// Requests: budgets grow only while the receive slots that are not for replies hold them and the control messages of
// all connections, and leave room for the first credits of some more. A budget is in the peer's hands (granted), held
// here by requests, or back (returnable). Replies: the origin reserves a slot of its own before it sends. Control: two
// slots for each connection (control.cpp).
#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t control_slots = 2;  // of each connection

// Longer than an ordinary reply takes, shorter than anybody would notice.
constexpr Microseconds starving_max{100};

}  // namespace

PeerBook* ContextCore::book_of(na::Peer& peer) noexcept {
    if (peer.upper) return static_cast<PeerBook*>(peer.upper);
    PeerBook* book = books.acquire();
    if (!book) return nullptr;
    book->core = this;
    book->peer = &peer;
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
    const std::uint32_t first = std::max(book.peer->initial_credits(), 1u);
    const std::uint32_t used = book.posted;  // went ahead to dial
    book.credits = first > used ? first - used : 0;
    book.budget = na->options().initial_credits;
    book.granted = book.budget;
    book.returnable = 0;
    budgets += book.budget;
    ++connections;
    book.control_unacked = false;
    book.owes_ack = false;
    book.active = book.recalled = false;
    if (options.heartbeat.count() != 0 && !book.sent.empty()) watch_peer(book);
    make_room();
}

void ContextCore::close_book(PeerBook& book, Errc why) noexcept {
    if (book.open) {
        budgets -= book.budget;
        --connections;
    }
    book.open = false;
    book.posted = 0;
    ++book.connection;
    na->disarm(book.starved);
    na->disarm(book.beat);
    replies_owed -= book.replies_owed;
    book.replies_owed = book.credits = book.budget = book.granted = book.returnable = 0;
    wake_reply_waiter();
    book.hungry = false;
    book.control.clear();
    book.control_unacked = false;
    book.owes_ack = false;
    // An ending may run into another call's, so the lists are looked at anew each time.
    while (Call* call = book.sent.front()) {
        if (call->awaiting_release_) book.sent.remove(*call);
        finish(*call, why);
    }
    // Those that waited while the peer was asked to leave have lost nothing.
    const bool left = std::exchange(book.leaving, Leaving::no) != Leaving::no;
    if (left) --connections_leaving;
    while (Call* call = left ? nullptr : book.queued.front()) finish(*call, why);
    calls.for_each([&](Call& call) {
        if (call.book_ == &book && call.awaiting_release_) release_came(call);
    });
    for (Request* request = book.held.front(); request;) {
        Request* const next = PeerBook::Requests::next(*request);
        request->orphaned_ = true;
        cancel_request(*request);
        if (request->lend_) {
            result_released(*request);
        } else {
            free_request_if_over(*request);
        }
        request = next;
    }
    for (Tombstone& tombstone : tombstones) {
        if (tombstone.peer == book.peer) tombstone = {};
    }
    end_quarantine(&book);
    if (left && !book.queued.empty()) look_soon(book);
    drop_book_if_idle(book);
}

// Deferred, because callers are in the middle of the book.
void ContextCore::drop_book_if_idle(PeerBook& book) noexcept {
    if (!book.peer || book.open || book.dropping || !book.idle()) return;
    book.dropping = true;
    book.drop.user = &book;
    book.drop.run = [](Work& work) noexcept {
        PeerBook& idle = *static_cast<PeerBook*>(work.user);
        ContextCore& core = *idle.core;
        idle.dropping = false;
        if (idle.open || !idle.idle()) return;
        na::Peer* peer = std::exchange(idle.peer, nullptr);
        peer->upper = nullptr;
        if (std::exchange(idle.awaits_reply_slot, false)) std::erase(core.reply_waiters, &idle);
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
    struct News {
        Work work;
        ContextCore* core;
        na::Addr addr;
        na::PeerEvent event;
        Errc why;
    };
    auto* notice = new (std::nothrow) News{{}, this, peer.addr(), event, why};
    if (!notice) return;
    notice->work.user = notice;
    notice->work.run = [](Work& work) noexcept {
        const std::unique_ptr<News> told(static_cast<News*>(work.user));
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
    bool each = true;
    books.for_each([&](const PeerBook& book) {
        if (!book.peer) return;
        owed += book.replies_owed;
        if (!book.open) return;
        ++open;
        made += book.budget;
        each &= book.granted + book.returnable <= book.budget;
    });
    const std::uint32_t first = open * na->options().initial_credits;
    const std::uint32_t grown = made - std::min(made, first);
    return each && owed == replies_owed && made == budgets && open == connections && grown <= request_slots_max &&
           replies_owed + replies_kept <= replies_owed_max;
}

void ContextCore::add_credits(PeerBook& book, std::uint32_t credits) noexcept {
    if (!book.open) return;
    book.credits += credits;
}

// For a peer that asks, while slots are left.
void ContextCore::grow_budget(PeerBook& book) noexcept {
    if (!book.open || book.budget >= options.credits_per_peer_max) return;
    const std::uint32_t used = budgets + control_slots * connections;
    const std::uint32_t slots = used < request_slots_max ? request_slots_max - used : 0;
    // Some requests are on their way while others are held; many more would only be turned away.
    const std::uint64_t held_max = std::uint64_t{2} * options.requests_held_max;
    const auto left =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, budgets < held_max ? held_max - budgets : 0));
    const std::uint32_t more = std::min({std::max(book.budget, 1u), options.credits_per_peer_max - book.budget, left});
    book.budget += more;
    book.returnable += more;
    budgets += more;
    book.hungry = more == 0;
    if (book.hungry) recall_idle_credits();
}

// Called whenever a credit was used or came back and the peer has none. It is told by a message of its own if no reply
// does it in a moment: handlers may be holding all that it has sent.
void ContextCore::watch_starving(PeerBook& book) noexcept {
    if (!book.open || book.returnable == 0 || book.starved.armed()) return;
    book.starved.user = &book;
    book.starved.fire = [](Timer& timer) noexcept {
        PeerBook& starving = *static_cast<PeerBook*>(timer.user);
        starving.core->grant_if_starved(starving);
    };
    na->arm(book.starved, after(na->now_us(), starving_max));
}

void ContextCore::grant_if_starved(PeerBook& book) noexcept {
    if (!book.open || book.granted != 0 || book.returnable == 0) return;
    const std::uint32_t credits = credits_for(book);
    send_control(book, {ControlType::grant, credits, 0});
}

}  // namespace cinnabar::rpc
