// SPDX-License-Identifier: BSD-3-Clause
// The end of a call: it is answered, fails or is canceled, but ends only once. Its callback runs when the call no
// longer uses anything that belongs to its caller.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/test_yield.hpp>

#include <algorithm>

namespace cinnabar::rpc {
namespace {

bool ends_early(Errc result) noexcept {
    return result == Errc::timed_out || result == Errc::canceled || result == Errc::peer_lost ||
           result == Errc::overloaded;
}

}  // namespace

// Does nothing to a delivered call: such a call belongs to its caller, which may be freeing it at this moment without
// owning the context (reuse()). A call in flight cannot be freed that way, because the thread that takes delivery of it
// later sees that a cancel is queued.
void Origin::cancel_if_under_way(Call& call) noexcept {
    if (call.phase_.load() == Call::Phase::outside) return;
    if (call.use_.state == Call::State::made) {
        call.use_.canceled_early = true;  // submit() is queued, and will see this
    } else if (call.use_.state != Call::State::idle) {
        CINNABAR_TEST_YIELD("call: about to be canceled");
        finish(call, Errc::canceled);
    }
}

void Origin::cancel_requested(Call& call) noexcept {
    std::uint64_t meant = call.cancel_generation_.load();
    do {
        if (meant == call.generation_.load(std::memory_order_acquire)) cancel_if_under_way(call);
    } while (!call.cancel_generation_.compare_exchange_strong(meant, 0));  // repeat if a later call was canceled, too
    if (call.free_after_cancel_) free(call);
}

// Adds the transfer of a large result, which has followed the answer, to its way back.
void Call::way_back_until(TimeUs ended) noexcept {
    const std::uint32_t transfers_us = detail::lower_time(noted_opened_us_);
    const TimeUs before = left_us() + detail::upper_time(sent_us_) + for_credit_us_ + in_handler_us_ + transfers_us;
    noted_opened_us_ = detail::two_times(detail::short_time(ended - std::min(before, ended)), transfers_us);
    times_came(ended);
}

void Origin::tell_why_lost(Call& call, const na::Peer& peer) noexcept {
    const char* const because = peer.lost_because();
    if (!because || call.use_.state == Call::State::ended) return;
    call.whole_way_ = true;
    call.whole_.app_text = because;
}

void Origin::finish(Call& call, Errc result) noexcept {
    if (call.use_.state == Call::State::ended) return;
    if (ends_early(result)) note_waits(call);
    const Call::State before = call.use_.state;
    call.use_.state = Call::State::ended;
    call.use_.result = result;
    call.ended_us_ = core_.na->now_us();
    if (call.has_times()) [[unlikely]]
        call.way_back_until(call.ended_us_);
    core_.deadlines.forget(call);
    core_.queue.leave(call);
    bool unanswered = false;
    if (before == Call::State::sent) {
        --call.book_->sent;
        // If the transport counts receive slots, the reply still arrives, and uses one, although nobody waits for it.
        if (call.use_.was_sent && !call.args.one_way && !call.book_->strict) core_.replies.settle(*call.book_);
        unanswered = result == Errc::timed_out || result == Errc::canceled;
    } else if (before == Call::State::pulling) {
        --call.book_->sent;
    }
    const bool target_may_know = unanswered && call.use_.was_sent && call.book_->open;
    if (call.whole_way_) let_go(call, unanswered, target_may_know);
    if (target_may_know) core_.control.send(*call.book_, {ControlType::cancel, 0, call.id()});
    if (call.whole_way_) core_.call_fences.begin(call);
    complete_if_over(call);
}

// The part of finish() that the fast path needs, for a call that was sent and is answered. The caller frees the slot of
// the reply.
void Origin::finish_answered(Call& call, PeerBook& book, TimeUs now) noexcept {
    CINNABAR_DEBUG_ASSERT(call.use_.state == Call::State::sent && !call.whole_way_ && call.nothing_beside_message());
    call.book_ = nullptr;
    call.use_.state = Call::State::ended;
    call.ended_us_ = now;
    core_.deadlines.forget_plain(call);
    --book.sent;
    --book.users;
    call.use_.completed = true;
    call.use_.nothing_left = call.slot_index < messages_retained_;
    hand_to_caller(call);
}

// Releases the resources of the slow path.
void Origin::let_go(Call& call, bool unanswered, bool target_may_know) noexcept {
    if (call.op_.state != na::OpState::idle && unanswered) core_.na->cancel_owned(call.op_);
    if (call.pull_) core_.mover->cancel(*call.pull_);
    const bool gave_memory = call.lends_ != nullptr || call.whole_.forwards || call.whole_.shows_memory;
    call.whole_.awaiting_release = target_may_know && gave_memory && !core_.closed_;
}

// Completes the call without waiting for the transport to release its message: if the message cannot be recalled, its
// release may take until the connection is lost. Only the slot is kept until the release.
void Origin::complete_if_over(Call& call) noexcept {
    if (call.use_.state != Call::State::ended || call.whole_.awaiting_release || call.whole_.fences != 0) return;
    CINNABAR_DEBUG_ASSERT(call.whole_way_ || call.nothing_beside_message());
    const bool transport_is_done = !call.whole_way_ || (call.op_.state == na::OpState::idle && !call.pull_);
    if (transport_is_done) {
        if (PeerBook* book = std::exchange(call.book_, nullptr)) {
            --book->users;
            core_.peers.drop_if_idle(*book);
        }
    }
    if (!std::exchange(call.use_.completed, true)) {
        call.use_.nothing_left = call.slot_index < messages_retained_ && call.holds_message_only();
        return hand_to_caller(call);
    }
    if (transport_is_done && call.free_when_over_) free(call);
}

// The call may be freed during this function.
void Origin::hand_to_caller(Call& call) noexcept {
    call.work_.run = bind<&Origin::deliver>;
    core_.na->enqueue(call.work_);
}

void Origin::deliver(Call& call) noexcept {
    Call::Phase expected = Call::Phase::in_flight;
    if (call.phase_.compare_exchange_strong(expected, Call::Phase::outside)) {
        return call.done_(call, call.user_);
    }
    call.work_.run = bind<&Origin::free>;
    core_.run_owned(call.work_);
}

// Ends the call as if the reply were `overloaded`.
void Origin::refused(PeerBook& book, std::uint64_t id) noexcept {
    if (book.strict) core_.replies.settle(book);
    Call* const call = find(id, &book);
    if (!call) return;
    if (call->use_.state == Call::State::sent) {
        finish(*call, Errc::overloaded);
    } else if (call->whole_.awaiting_release) {
        core_.call_fences.released(*call);
    }
}

}  // namespace cinnabar::rpc
