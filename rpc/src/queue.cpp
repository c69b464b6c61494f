// SPDX-License-Identifier: BSD-3-Clause
// What waits at the origin to be sent: for a credit, a slot for the reply, the connection, or room in the transport.
#include "context_core.hpp"

namespace cinnabar::rpc {
namespace {

// Between two tries of what the transport has no room for.
constexpr Microseconds retry_after{20};

}  // namespace

// Before the connection is made nobody knows how many credits there will be; one call goes ahead and dials.
bool ContextCore::may_send(PeerBook& book) noexcept {
    if (book.looks_again || book.leaving != Leaving::no) return false;
    if (book.credits == 0 && (book.open || (book.sent | book.posted) != 0)) return false;
    if (replies_owed + replies_kept < replies_owed_max) return true;
    if (!book.reply_waiter.linked) reply_waiters.push_back(book);
    return false;
}

// Not now, but in a moment: the caller may be in the middle of any list.
void ContextCore::wake_reply_waiter() noexcept {
    if (reply_waiters.empty() || closed_) return;
    look_soon(*reply_waiters.pop_front());
}

void ContextCore::look_soon(PeerBook& book) noexcept {
    if (book.looks_again || closed_) return;
    book.looks_again = true;
    book.look.user = &book;
    book.look.run = [](Work& work) noexcept {
        PeerBook& next = *static_cast<PeerBook*>(work.user);
        next.core->look_again(next);
    };
    na->submit(book.look);
}

// The transport has no room. It says nothing when it has some again, so it is asked a little later.
void ContextCore::try_later(PeerBook& book) noexcept {
    if (book.looks_again || closed_) return;
    book.looks_again = true;
    book.retry.user = &book;
    book.retry.fire = [](Timer& timer) noexcept {
        PeerBook& stalled = *static_cast<PeerBook*>(timer.user);
        stalled.core->look_again(stalled);
    };
    na->arm(book.retry, after(na->now_us(), retry_after));
}

// Whatever had to wait: replies, control messages, calls.
void ContextCore::look_again(PeerBook& book) noexcept {
    book.looks_again = false;
    WorkQueue replies;
    replies.splice_back(book.unsent_replies);
    while (Work* reply = replies.pop_front()) reply->run(*reply);
    flush_control(book);
    pump(book);
    if (replies_owed + replies_kept < replies_owed_max) wake_reply_waiter();
    drop_book_if_idle(book);
}

// The oldest, unless half its time is over: then the peer takes less than it is offered, and an answer to the oldest
// would come too late. The newest still has its time; those passed over go when the load falls, or expire.
Call& ContextCore::next_to_send(PeerBook& book) noexcept {
    Call& oldest = *book.queued.front();
    return oldest.stale_at_ > na->now_us() ? oldest : *book.queued.back();
}

void ContextCore::send_queued(PeerBook& book) noexcept {
    while (!book.queued.empty()) {
        if (!may_send(book)) return;
        if (!send(next_to_send(book))) return;
    }
}

}  // namespace cinnabar::rpc
