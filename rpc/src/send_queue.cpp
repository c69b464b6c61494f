// SPDX-License-Identifier: BSD-3-Clause
#include "send_queue.hpp"

#include "context_core.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

// Between two tries of what the transport has no room for.
constexpr Microseconds retry_after{20};

}  // namespace

// Before the connection is made nobody knows how many credits there will be; one call goes ahead and dials.
bool SendQueue::may_send(PeerBook& book) noexcept {
    if (book.looks_again || book.leaving != Leaving::no) return false;
    if (book.credits == 0 && (book.open || (book.sent | book.posted) != 0)) return false;
    if (core_.replies.has_slot()) return true;
    core_.replies.wait(book);
    return false;
}

void SendQueue::enter(Call& call, bool first) noexcept {
    const TimeUs now = core_.na->now_us();
    const TimeUs deadline = call.args.deadline;
    call.stale_at_ = deadline == time_never ? time_never : now + (deadline - std::min(now, deadline)) / 2;
    call.state_ = Call::State::queued;
    if (first) {
        call.book_->queued.push_front(call);
    } else {
        call.book_->queued.push_back(call);
    }
    bytes_ += call.input_bytes_;
    ++calls_;
}

void SendQueue::look_soon(PeerBook& book) noexcept {
    if (book.looks_again || core_.closed_) return;
    book.looks_again = true;
    book.look.user = &book;
    book.look.run = [](Work& work) noexcept {
        PeerBook& next = *static_cast<PeerBook*>(work.user);
        next.core->queue.look_again(next);
    };
    core_.na->submit(book.look);
}

// The transport has no room. It says nothing when it has some again, so it is asked a little later.
void SendQueue::try_later(PeerBook& book) noexcept {
    if (book.looks_again || core_.closed_) return;
    book.looks_again = true;
    book.retry.user = &book;
    book.retry.fire = [](Timer& timer) noexcept {
        PeerBook& stalled = *static_cast<PeerBook*>(timer.user);
        stalled.core->queue.look_again(stalled);
    };
    core_.na->arm(book.retry, after(core_.na->now_us(), retry_after));
}

// Whatever had to wait: replies, control messages, calls.
void SendQueue::look_again(PeerBook& book) noexcept {
    book.looks_again = false;
    WorkQueue replies;
    replies.splice_back(book.unsent_replies);
    while (Work* reply = replies.pop_front()) reply->run(*reply);
    core_.control.flush(book);
    pump(book);
    if (core_.replies.has_slot()) core_.replies.wake_waiter();
    core_.peers.drop_if_idle(book);
}

// The oldest, unless half its time is over: then the peer takes less than it is offered, and an answer to the oldest
// would come too late. The newest still has its time; those passed over go when the load falls, or expire.
Call& SendQueue::next(PeerBook& book) noexcept {
    Call& oldest = *book.queued.front();
    return oldest.stale_at_ > core_.na->now_us() ? oldest : *book.queued.back();
}

void SendQueue::send_queued(PeerBook& book) noexcept {
    while (!book.queued.empty()) {
        if (!may_send(book)) return;
        if (!core_.origin.send(next(book))) return;
    }
}

}  // namespace cinnabar::rpc
