// SPDX-License-Identifier: BSD-3-Clause
#include "send_queue.hpp"

#include "control.hpp"
#include "origin.hpp"
#include "part_of.hpp"
#include "peers.hpp"
#include "replies.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

// The interval between attempts while the transport has no room.
constexpr Microseconds retry_after{20};

}  // namespace

// The number of credits is not known before the connection is made, so only one call is sent ahead, which dials.
bool SendQueue::may_send(PeerBook& book) noexcept {
    if (book.looks_again || book.leaving != Leaving::no) return false;
    if (book.credits == 0 && (book.open || (book.sent | book.posted) != 0)) {
        stuck_on(book, book.open ? CallPhase::waits_for_credit : CallPhase::connecting);
        return false;
    }
    if (replies_.has_slot()) return true;
    stuck_on(book, CallPhase::waits_for_reply_slot);
    replies_.wait(book);
    return false;
}

void SendQueue::stuck_on(PeerBook& book, CallPhase phase) noexcept {
    book.stuck_on = phase;
    if (phase != CallPhase::waits_for_credit) return end_wait_for_credit(book);
    if (book.no_credit_until == 0) return;  // a credit that is spent at once does not end the wait of the others
    book.no_credit_since = base_.na->now_us();
    book.no_credit_until = 0;
}

void SendQueue::end_wait_for_credit(PeerBook& book) noexcept {
    if (book.no_credit_until == 0) book.no_credit_until = std::max<TimeUs>(base_.na->now_us(), 1);
}

// Returns how long the call waited for a credit. If the call did so several times, and waited for something else in
// between, only the last wait counts.
std::uint32_t SendQueue::for_credit_us(const Call& call) const noexcept {
    const PeerBook& book = *call.book_;
    TimeUs until = book.no_credit_until;
    if (until == 0) {
        if (book.stuck_on != CallPhase::waits_for_credit) return 0;
        until = base_.na->now_us();
    }
    const TimeUs since = std::max(book.no_credit_since, call.queued_us_);
    return static_cast<std::uint32_t>(std::min<TimeUs>(until - std::min(since, until), ~std::uint32_t{0}));
}

void SendQueue::enter(Call& call, bool first) noexcept {
    if (!call.was_queued()) {
        call.queued_use_ = call.uses();
        call.queued_us_ = base_.na->now_us();
    }
    call.use_.state = Call::State::queued;
    if (first) {
        call.book_->queued.push_front(call);
    } else {
        call.book_->queued.push_back(call);
    }
    bytes_ += call.input_bytes_;
    ++calls_;
}

void SendQueue::leave_sent(Call& call) noexcept {
    call.queued_for_ = call.book_->stuck_on;
    if (call.args.timed) {
        call.for_credit_us_ = for_credit_us(call);
    } else {
        call.sent_us_ = base_.na->now_us();
    }
    leave(call);
}

void SendQueue::look_soon(PeerBook& book) noexcept {
    if (book.looks_again || base_.closed_) return;
    book.looks_again = true;
    book.look.user = &book;
    book.look.run = bind<&SendQueue::look_again>;
    base_.na->submit(book.look);
}

// The transport has no room. It does not report when it has room again, so the next attempt is made a little later.
void SendQueue::try_later(PeerBook& book) noexcept {
    if (book.looks_again || base_.closed_) return;
    if (book.credits != 0) end_wait_for_credit(book);
    // Any other reason lasts longer, so it is kept.
    if (book.stuck_on == CallPhase::unknown) book.stuck_on = CallPhase::waits_for_room;
    book.looks_again = true;
    book.retry.user = &book;
    book.retry.fire = bind<&SendQueue::look_again>;
    base_.na->arm(book.retry, after(base_.na->now_us(), retry_after));
}

// Tries again what had to wait: replies, control messages and calls.
void SendQueue::look_again(PeerBook& book) noexcept {
    book.looks_again = false;
    WorkQueue replies;
    replies.splice_back(book.unsent_replies);
    while (WorkItem* reply = replies.pop_front()) reply->run(*reply);
    control_.flush(book);
    pump(book);
    if (replies_.has_slot()) replies_.wake_waiter();
    peers_.drop_if_idle(book);
}

// Whether half of the time from the queueing of the call to its deadline is over.
bool SendQueue::is_stale(const Call& call) const noexcept {
    const TimeUs deadline = call.args.deadline;
    const TimeUs half = (deadline - std::min(call.queued_us_, deadline)) / 2;
    return deadline != time_never && call.queued_us_ + half <= base_.na->now_us();
}

// Returns the oldest call, or the newest if half of the time of the oldest is over. In that case the peer handles less
// than it is offered, and the answer to the oldest call would come too late, while the newest call still has time. The
// calls that are passed over are sent when there is less load, or expire.
Call& SendQueue::next(PeerBook& book) noexcept {
    Call& oldest = *book.queued.front();
    return is_stale(oldest) ? *book.queued.back() : oldest;
}

void SendQueue::send_queued(PeerBook& book) noexcept {
    while (!book.queued.empty()) {
        if (!may_send(book)) return;
        if (!origin_.send(next(book))) return;
    }
    book.stuck_on = CallPhase::unknown;
}

}  // namespace cinnabar::rpc
