// SPDX-License-Identifier: BSD-3-Clause
// The end of a call: answered, failed or canceled, it ends once, and its callback runs once it uses nothing of its
// caller's any more.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/test_yield.hpp>

namespace cinnabar::rpc {

// One that was delivered is its caller's, who may be freeing it at this moment, as the owner of nothing (reuse). Of one
// that is in flight nobody does: whoever takes delivery of it from now on sees that a cancel is queued.
void Origin::cancel_if_under_way(Call& call) noexcept {
    if (call.phase_.load() == Call::Phase::outside) return;
    if (call.state_ == Call::State::made) {
        call.canceled_early_ = true;  // its submit() is handed over still
    } else if (call.state_ != Call::State::idle) {
        CINNABAR_TEST_YIELD("call: about to be canceled");
        note_phase(call);
        finish(call, Errc::canceled);
    }
}

void Origin::cancel_requested(Call& call) noexcept {
    std::uint64_t meant = call.cancel_generation_.load();
    do {
        if (meant == call.generation_.load(std::memory_order_acquire)) cancel_if_under_way(call);
    } while (!call.cancel_generation_.compare_exchange_strong(meant, 0));  // a later call of the slot was canceled, too
    if (call.free_after_cancel_) free(call);
}

void Origin::finish(Call& call, Errc result) noexcept {
    if (call.state_ == Call::State::ended) return;
    const Call::State before = call.state_;
    call.state_ = Call::State::ended;
    call.result_ = result;
    call.ended_us_ = core_.na->now_us();
    core_.deadlines.forget(call);
    core_.queue.leave(call);
    bool unanswered = false;
    if (before == Call::State::sent) {
        --call.book_->sent;
        // Where slots are counted, a reply that nobody waits for still comes and takes one.
        if (call.was_sent_ && !call.args.one_way && !call.book_->strict) core_.replies.settle(*call.book_);
        unanswered = result == Errc::timed_out || result == Errc::canceled;
    } else if (before == Call::State::pulling) {
        --call.book_->sent;
    }
    const bool target_may_know = unanswered && call.was_sent_ && call.book_->open;
    if (call.whole_way_) let_go(call, unanswered, target_may_know);
    if (target_may_know) core_.control.send(*call.book_, {ControlType::cancel, 0, call.id()});
    if (call.whole_way_) begin_fence(call);
    complete_if_over(call);
}

// By the short way, what finish() does for a call that was sent and is answered, and nothing else: the slot of its
// reply is the caller's matter.
void Origin::finish_answered(Call& call, PeerBook& book, TimeUs now) noexcept {
    CINNABAR_DEBUG_ASSERT(call.state_ == Call::State::sent && !call.whole_way_ && call.nothing_beside_message());
    call.book_ = nullptr;
    call.state_ = Call::State::ended;
    call.ended_us_ = now;
    core_.deadlines.forget_plain(call);
    --book.sent;
    --book.users;
    call.completed_ = true;
    call.nothing_left_ = call.slot_index < messages_retained_;
    hand_to_caller(call);
}

// What a call that went the whole way uses beside its message.
void Origin::let_go(Call& call, bool unanswered, bool target_may_know) noexcept {
    if (call.op_.state != na::OpState::idle && unanswered) core_.na->cancel_owned(call.op_);
    if (call.pull_) core_.mover->cancel(*call.pull_);
    const bool gave_memory = call.lends_ != nullptr || call.forwards_ || call.shows_memory_;
    call.awaiting_release_ = target_may_know && gave_memory && !core_.closed_;
}

// The completion does not wait for the transport to let go of the message: what cannot be recalled may take until the
// connection is lost. The slot does.
void Origin::complete_if_over(Call& call) noexcept {
    if (call.state_ != Call::State::ended || call.awaiting_release_ || call.fences_ != 0) return;
    CINNABAR_DEBUG_ASSERT(call.whole_way_ || call.nothing_beside_message());
    const bool transport_is_done = !call.whole_way_ || (call.op_.state == na::OpState::idle && !call.pull_);
    if (transport_is_done) {
        if (PeerBook* book = std::exchange(call.book_, nullptr)) {
            --book->users;
            core_.peers.drop_if_idle(*book);
        }
    }
    if (!std::exchange(call.completed_, true)) {
        call.nothing_left_ = call.slot_index < messages_retained_ && call.holds_message_only();
        return hand_to_caller(call);
    }
    if (transport_is_done && call.free_when_over_) free(call);
}

// It may be free from here on.
void Origin::hand_to_caller(Call& call) noexcept {
    call.work_.run = [](Work& work) noexcept {
        Call& over = call_of(work.user);
        over.core_->origin.deliver(over);
    };
    core_.na->enqueue(call.work_);
}

void Origin::deliver(Call& call) noexcept {
    Call::Phase expected = Call::Phase::in_flight;
    if (call.phase_.compare_exchange_strong(expected, Call::Phase::outside)) {
        return call.done_(call, call.user_);
    }
    call.work_.run = [](Work& work) noexcept {
        Call& abandoned = call_of(work.user);
        abandoned.core_->origin.free(abandoned);
    };
    core_.run_owned(call.work_);
}

// As a reply that says `overloaded`.
void Origin::refused(PeerBook& book, std::uint64_t id) noexcept {
    if (book.strict) core_.replies.settle(book);
    Call* const call = find(id, &book);
    if (!call) return;
    if (call->state_ == Call::State::sent) {
        finish(*call, Errc::overloaded);
    } else if (call->awaiting_release_) {
        release_came(*call);
    }
}

}  // namespace cinnabar::rpc
