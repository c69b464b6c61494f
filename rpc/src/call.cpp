// SPDX-License-Identifier: BSD-3-Clause
// A call's way out: made, filled, queued for a credit, sent, ended once, delivered, freed.
#include "context_core.hpp"
#include "plain_frame.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/test_yield.hpp>

#include <algorithm>
#include <cstring>

namespace cinnabar::rpc {

// Fifteen cache lines. A slot more than that costs a miss with many calls in flight.
static_assert(sizeof(Call) <= 960);

namespace {

Call& call_of(void* user) { return *static_cast<Call*>(user); }

}  // namespace

// The attribute has to stand here as well (na/src/context.cpp).
[[gnu::tls_model("initial-exec")]] constinit thread_local SpareSlot<Call> spare_call;

void ContextCore::renew_whole_way(Call& call) noexcept {
    call.app_code_ = 0;
    call.app_text_ = {};
    call.awaiting_release_ = call.forwards_ = call.fence_failed_ = call.overflow_ = false;
    call.whole_way_ = false;
    call.never_left_ = call.may_have_left_ = false;
    call.place_ = 0;
}

// As new, but not free yet.
[[gnu::always_inline]] inline void ContextCore::renew(Call& call) noexcept {
    if (call.whole_way_) [[unlikely]]
        renew_whole_way(call);
    call.output_ = {};
    call.output_shape_ = 0;
    call.completed_ = call.nothing_left_ = call.canceled_early_ = false;
    call.was_sent_ = false;
    call.result_ = Errc::ok;
    call.state_ = Call::State::idle;
    call.began_us = 0;
    call.generation_.store(call.generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    call.phase_.store(Call::Phase::outside, std::memory_order_relaxed);
}

// Any thread. Requires: it holds nothing but its message.
[[gnu::always_inline]] inline void ContextCore::reuse(Call& call) noexcept {
    renew(call);
    spare_call.release(calls, call);
}

// The slot that this thread has just released, if the same peer is called again: it has all that a call needs.
Call* Context::make_call(const na::Addr& to, Errc& why) noexcept {
    ContextCore& core = *core_;
    Call* const spare = spare_call.slot;
    const bool same = spare && spare_call.pool == &core.calls && spare->message_ && spare->to_ == to;
    if (!same || core.closing_ || core.engine.draining()) return core.make_call(to, why);
    spare_call.slot = nullptr;
    why = Errc::ok;
    spare->args = {};
    spare->state_ = Call::State::made;
    return spare;
}

Call* ContextCore::make_call(const na::Addr& to, Errc& why) noexcept {
    why = Errc::closed;
    if (closing_ || engine.draining()) return nullptr;
    why = Errc::unreachable;
    na::Port* const port = only_port ? only_port : na->route(to);
    if (!port || to.empty()) return nullptr;
    why = Errc::overloaded;
    Call* call = spare_call.acquire(calls);
    if (!call) return nullptr;
    if (call->message_ && call->message_->port != port)
        call->message_->port->give_message(*std::exchange(call->message_, nullptr));
    if (!call->message_) call->message_ = port->take_message();
    if (!call->message_) {
        calls.release(*call);
        return nullptr;
    }
    why = Errc::ok;
    if (!call->core_) {  // else a late cancel of the slot's last call may be reading it
        call->core_ = this;
        call->timer_.user = call->work_.user = call;
    }
    if (call->to_ != to) call->to_ = to;
    call->port_ = port;
    call->args = {};
    call->state_ = Call::State::made;
    return call;
}

Call* Context::make_call_in_place_of(Call& over, const na::Addr& to, Errc& why) noexcept {
    ContextCore& core = *core_;
    CINNABAR_ASSERT(over.core_ == &core && over.phase_.load(std::memory_order_relaxed) == Call::Phase::outside);
    const bool in_place = over.nothing_left_ && over.cancel_generation_.load() == 0 && over.to_ == to &&
                          !core.closing_ && !core.engine.draining();
    if (!in_place) {
        over.release();
        return make_call(to, why);
    }
    core.renew(over);
    why = Errc::ok;
    over.args = {};
    over.state_ = Call::State::made;
    return &over;
}

Context& Call::context() const noexcept { return *core_->facade; }

Bytes Call::input_room() const noexcept {
    const Bytes room = message_->bytes().subspan(request_header_bytes);
    return room.first(room.size() - behind_payload_max);
}

Errc Call::forward(std::size_t input_bytes, CallDone done, void* user) noexcept {
    CINNABAR_ASSERT(state_ == State::made);
    const std::size_t room = whole_way_ && large_input_ ? large_input_.bytes() : input_room().size();
    if (input_bytes > room || !done) return Errc::invalid_argument;
    if (core_->closing_ || core_->engine.draining()) return Errc::closed;
    input_bytes_ = static_cast<std::uint32_t>(input_bytes);
    done_ = done;
    user_ = user;
    phase_.store(Phase::in_flight, std::memory_order_release);
    work_.run = [](Work& work) noexcept {
        Call& call = call_of(work.user);
        call.core_->submit(call);
    };
    core_->run_owned(work_);
    return Errc::ok;
}

// Of the call that has that generation, whoever has the slot by now. A cancel that is queued for an earlier call of the
// slot becomes this one's.
bool Call::prepare_cancel(std::uint64_t generation) noexcept {
    std::uint64_t queued = cancel_generation_.load(std::memory_order_relaxed);
    do {
        if (queued >= generation) return false;
    } while (!cancel_generation_.compare_exchange_weak(queued, generation));
    if (queued != 0) return false;
    cancel_work_.user = this;
    cancel_work_.run = [](Work& work) noexcept {
        Call& call = call_of(work.user);
        call.core_->cancel_requested(call);
    };
    return true;
}

void Call::cancel() noexcept {
    if (prepare_cancel(generation_.load(std::memory_order_relaxed))) core_->run_owned(cancel_work_);
}

void Call::cancel_soon() noexcept {
    if (prepare_cancel(generation_.load(std::memory_order_relaxed))) core_->na->submit(cancel_work_);
}

void Context::cancel(CallId id) noexcept {
    Call* call = core_->calls.at(static_cast<std::uint32_t>(id & ((1u << call_slot_bits) - 1)));
    if (!call || !call->core_) return;  // no call of that id was ever made
    const std::uint64_t generation = call->generation_.load(std::memory_order_acquire);
    if (Call::id_of(generation, call->slot_index) != id) return;
    CINNABAR_TEST_YIELD("call: found by its id");
    if (call->prepare_cancel(generation)) core_->run_owned(call->cancel_work_);
}

bool Call::times(TimeUs& sent_us, TargetTimes& target) const noexcept {
    if (!args.timed || !was_sent_ || !times_came_)
        return false;  // one that was not sent may be of a slot that was timed
    sent_us = sent_us_;
    target = target_times_;
    return true;
}

void Call::release() noexcept {
    const bool delivered = phase_.load(std::memory_order_acquire) == Phase::outside;
    if (delivered && nothing_left_ && cancel_generation_.load() == 0 && !core_->closed_) {
        CINNABAR_TEST_YIELD("call: about to be reused");
        return core_->reuse(*this);
    }
    release_whole_way();
}

void Call::release_whole_way() noexcept {
    // In flight, a thread that delivers it may be about to take it.
    Phase before = phase_.load(std::memory_order_acquire);
    if (before == Phase::in_flight) before = phase_.exchange(Phase::abandoned);
    CINNABAR_ASSERT(before != Phase::abandoned);
    if (before == Phase::in_flight) return cancel();  // deliver() frees it
    phase_.store(Phase::abandoned, std::memory_order_relaxed);
    work_.run = [](Work& work) noexcept {
        Call& call = call_of(work.user);
        call.core_->free_call(call);
    };
    core_->run_owned(work_);
}

// One that was delivered is its caller's, who may be freeing it at this moment, as the owner of nothing (reuse). Of one
// that is in flight nobody does: whoever takes delivery of it from now on sees that a cancel is queued.
void ContextCore::cancel_if_under_way(Call& call) noexcept {
    if (call.phase_.load() == Call::Phase::outside) return;
    if (call.state_ == Call::State::made) {
        call.canceled_early_ = true;  // its submit() is handed over still
    } else if (call.state_ != Call::State::idle) {
        CINNABAR_TEST_YIELD("call: about to be canceled");
        note_phase(call);
        finish(call, Errc::canceled);
    }
}

void ContextCore::cancel_requested(Call& call) noexcept {
    std::uint64_t meant = call.cancel_generation_.load();
    do {
        if (meant == call.generation_.load(std::memory_order_acquire)) cancel_if_under_way(call);
    } while (!call.cancel_generation_.compare_exchange_strong(meant, 0));  // a later call of the slot was canceled, too
    if (call.free_after_cancel_) free_call(call);
}

// To the transport, or with it.
inline void ContextCore::request_left(Call& call, PeerBook& book) noexcept {
    if (call.link_.linked) {
        book.queued.remove(call);
        queued_bytes -= call.input_bytes_;
        --queued_calls;
    }
    note_sent(call, book);
}

inline void ContextCore::note_sent(Call& call, PeerBook& book) noexcept {
    ++book.sent;
    call.state_ = Call::State::sent;
    call.was_sent_ = true;
    call.connection_ = book.connection;
    if (book.credits > 0) --book.credits;  // none before the connection is made
    if (options.heartbeat.count() != 0) watch_peer(book);
}

inline std::uint64_t ContextCore::time_left(const Call& call) const noexcept {
    const TimeUs now = na->now_us();
    if (call.args.deadline == time_never) return time_left_none;
    return call.args.deadline > now ? call.args.deadline - now : 0;
}

// The header in front of the arguments, and what follows them. Returns how much that is together.
inline std::uint32_t ContextCore::write_request(Call& call, const PeerBook& book) const noexcept {
    const bool hungry = book.credits <= 1 && book.queued.front() != book.queued.back();
    const bool traced = static_cast<bool>(call.args.trace);
    RequestHeader header;
    header.flags = frame_flags;
    if (call.whole_way_) {
        if (call.overflow_) header.flags |= flag_overflow;
        if (call.place_ != 0) header.flags |= flag_place;
        header.place = call.place_;
    }
    if (call.args.one_way) header.flags |= flag_one_way;
    if (hungry) header.flags |= flag_hungry;
    if (traced) header.flags |= flag_trace;
    if (call.args.timed) [[unlikely]] {
        header.flags |= flag_times;
        call.sent_us_ = na->clock().now_us();
        call.times_came_ = false;
    }
    header.payload_bytes = call.input_bytes_;
    header.rpc = call.args.rpc;
    header.time_left_us = time_left(call);
    header.shape = call.args.shape;
    header.provider = call.args.provider;
    if (traced) header.trace = call.args.trace;
    encode_request(header, call.message_->bytes());
    return static_cast<std::uint32_t>(request_header_bytes + call.input_bytes_ + behind_payload(header.flags));
}

// By the short way, if the transport takes it at once: then it has left.
[[gnu::always_inline]] inline bool ContextCore::leaves_at_once(const Call& call, PeerBook& book,
                                                               std::uint32_t bytes) noexcept {
    return book.open &&
           na->send_now(*book.peer, na::OpKind::send_unexpected, call.id(), ConstBytes(call.message_->payload, bytes));
}

void ContextCore::ask_for_times(Call& call) const noexcept {
    PlainRequest::ask_for_times(call.message_->payload);
    call.sent_us_ = na->clock().now_us();
    call.times_came_ = false;
}

// What write_request() would have little to say of but the arguments, and no other call waits. False when the
// transport cannot take it now.
[[gnu::always_inline]] inline bool ContextCore::send_plain(Call& call, PeerBook& book, std::uint64_t left) noexcept {
    PlainRequest::encode(call.message_->payload, call.input_bytes_, call.args.rpc, left, call.args.shape,
                         call.args.provider);
    if (call.args.timed) [[unlikely]]
        ask_for_times(call);
    const std::uint32_t bytes = static_cast<std::uint32_t>(request_header_bytes) + call.input_bytes_;
    if (!leaves_at_once(call, book, bytes)) [[unlikely]]
        return send_whole_way(call, bytes);
    note_sent(call, book);
    ++book.replies_owed;
    ++replies_owed;
    return true;
}

// Mostly a call's deadline is behind that of the call before: those are a queue, which has one timer for its first.
// That stays armed when its call has ended, and looks again.
inline void ContextCore::watch_deadline(Call& call) noexcept {
    const TimeUs deadline = call.args.deadline;
    if (deadline == time_never) return;
    const Call* const last = deadlines.back();
    if (last && deadline < last->args.deadline) return watch_deadline_alone(call);
    deadlines.push_back(call);
    if (!first_deadline.armed() || first_deadline.expires > deadline) arm_first_deadline(deadline);
}

void ContextCore::arm_first_deadline(TimeUs deadline) noexcept {
    na->disarm(first_deadline);
    na->arm(first_deadline, deadline);
}

void ContextCore::watch_deadline_alone(Call& call) noexcept {
    const TimeUs deadline = call.args.deadline;
    call.whole_way_ = true;
    call.timer_.fire = [](Timer& timer) noexcept {
        Call& late = call_of(timer.user);
        late.core_->note_phase(late);
        late.core_->finish(late, Errc::timed_out);
    };
    na->arm(call.timer_, deadline);
}

void ContextCore::submit(Call& call) noexcept {
    call.state_ = Call::State::queued;
    const bool abandoned = call.phase_.load(std::memory_order_relaxed) == Call::Phase::abandoned;
    if (call.canceled_early_ || abandoned || closed_) return finish(call, Errc::canceled);
    const TimeUs deadline = call.args.deadline;
    const TimeUs now = deadline == time_never ? 0 : na->present_us();
    if (deadline <= now) return finish(call, Errc::timed_out);
    na::Peer* peer = na->known_peer(call.to_);
    if (!peer) {
        const auto found = na->peer(call.to_);
        if (!found) return finish(call, found.code());
        peer = *found;
    }
    if (&peer->port() != call.port_) return finish(call, Errc::unreachable);
    PeerBook* book = book_of(*peer);
    if (!book) return finish(call, Errc::overloaded);
    call.book_ = book;
    ++book->users;
    if (call.whole_way_ && call.large_input_) {
        if (const Errc failed = lend_overflow(call); failed != Errc::ok) return finish(call, failed);
    }
    watch_deadline(call);
    // Nothing waits in front of it: not by way of the queue, unless it has to wait.
    if (book->queued.empty() && may_send(*book)) {
        const bool plain = !call.whole_way_ && !call.args.one_way && !call.args.trace && frame_flags == 0;
        static_assert(time_never == time_left_none);
        if (plain ? send_plain(call, *book, deadline - now) : send(call)) return;
    }
    if (queued_bytes + call.input_bytes_ > options.queued_bytes_max) return finish(call, Errc::overloaded);
    enter_queue(call, false);
    pump(*book);
}

void ContextCore::enter_queue(Call& call, bool first) noexcept {
    const TimeUs now = na->now_us();
    const TimeUs deadline = call.args.deadline;
    call.stale_at_ = deadline == time_never ? time_never : now + (deadline - std::min(now, deadline)) / 2;
    call.state_ = Call::State::queued;
    if (first) {
        call.book_->queued.push_front(call);
    } else {
        call.book_->queued.push_back(call);
    }
    queued_bytes += call.input_bytes_;
    ++queued_calls;
}

void ContextCore::forget_deadline(Call& call) noexcept {
    if (call.deadline_link_.linked) return deadlines.remove(call);
    if (call.whole_way_) na->disarm(call.timer_);
}

// A request that waited with the transport. Of one whose call is over the target hears that it has no time left.
void ContextCore::on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept {
    if (kind != na::OpKind::send_unexpected) return;
    if (frame_kind(message) != static_cast<std::uint8_t>(FrameKind::request)) return;
    Call* const call = calls.at(static_cast<std::uint32_t>(tag & ((1u << call_slot_bits) - 1)));
    const bool waits = call && call->id() == tag && call->book_ == peer.upper && call->state_ == Call::State::sent;
    set_time_left(waits ? time_left(*call) : 0, message);
    if (waits && call->args.timed) call->sent_us_ = na->clock().now_us();
}

// The whole way of a message: what is taken is told by request_sent().
Errc ContextCore::post_request(Call& call, std::uint32_t bytes) noexcept {
    call.whole_way_ = true;
    na::Op& op = call.op_;
    op.kind = na::OpKind::send_unexpected;
    op.peer = call.book_->peer;
    op.message = call.message_;
    op.message_bytes = bytes;
    op.tag = call.id();
    op.user = &call;
    op.complete = [](na::Op& posted) noexcept {
        Call& sent = call_of(posted.user);
        sent.core_->request_sent(sent);
    };
    return na->post_owned(op);
}

bool ContextCore::send(Call& call) noexcept {
    PeerBook& book = *call.book_;
    const std::uint32_t bytes = write_request(call, book);
    // One that is one-way completes when it has left, which is told on the whole way only.
    if (call.args.one_way || !leaves_at_once(call, book, bytes)) return send_whole_way(call, bytes);
    request_left(call, book);
    ++book.replies_owed;
    ++replies_owed;
    return true;
}

bool ContextCore::send_whole_way(Call& call, std::uint32_t bytes) noexcept {
    PeerBook& book = *call.book_;
    Errc taken = post_request(call, bytes);
    if (taken == Errc::too_large && !call.overflow_) {
        taken = move_to_overflow(call);
        if (taken == Errc::ok) return send(call);
    }
    if (taken == Errc::again) {
        try_later(book);
        return false;
    }
    if (taken != Errc::ok) {
        finish(call, taken);
        return true;
    }
    ++book.posted;
    request_left(call, book);
    if (call.args.one_way) {
        book.one_way_sent = true;
    } else {
        ++book.replies_owed;
        ++replies_owed;
    }
    return true;
}

void ContextCore::request_sent(Call& call) noexcept {
    const Errc result = call.op_.result;
    PeerBook& book = *call.book_;
    const bool ended = call.state_ == Call::State::ended;
    if (call.connection_ == book.connection) {
        --book.posted;
        if (result != Errc::ok) {
            // It never left: its credit is free again, and so is the slot for its reply.
            add_credits(book, 1);
            if (!call.args.one_way && (!ended || book.strict)) settle_reply(book);
        }
    }
    if (ended) {
        pump(book);
        return complete_if_over(call);
    }
    if (result == Errc::ok) {
        if (call.args.one_way && !call.overflow_) finish(call, Errc::ok);
        return;  // else a reply ends it, or `released` a one-way call whose arguments are still to be fetched
    }
    call.was_sent_ = false;
    const bool too_large = result == Errc::too_large && !call.overflow_;
    call.may_have_left_ = book.open && result != Errc::too_large;
    const Errc by_bulk = too_large ? move_to_overflow(call) : result;
    if (by_bulk == Errc::ok) {
        // The peer's limit became known with its Hello: the same call again, by bulk.
        --book.sent;
        enter_queue(call, true);
        return pump(book);
    }
    finish(call, by_bulk);
    // What waited for this dial has the same answer; dialling again for each would be a storm.
    if (!book.open) close_book(book, result);
}

void ContextCore::finish(Call& call, Errc result) noexcept {
    if (call.state_ == Call::State::ended) return;
    const Call::State before = call.state_;
    call.state_ = Call::State::ended;
    call.result_ = result;
    call.ended_us_ = na->now_us();
    forget_deadline(call);
    if (call.link_.linked) {
        call.book_->queued.remove(call);
        queued_bytes -= call.input_bytes_;
        --queued_calls;
    }
    bool unanswered = false;
    if (before == Call::State::sent) {
        --call.book_->sent;
        // Where slots are counted, a reply that nobody waits for still comes and takes one.
        if (call.was_sent_ && !call.args.one_way && !call.book_->strict) settle_reply(*call.book_);
        unanswered = result == Errc::timed_out || result == Errc::canceled;
    } else if (before == Call::State::pulling) {
        --call.book_->sent;
    }
    const bool target_may_know = unanswered && call.was_sent_ && call.book_->open;
    if (call.whole_way_) let_go(call, unanswered, target_may_know);
    if (target_may_know) send_control(*call.book_, {ControlType::cancel, 0, call.id()});
    if (call.whole_way_) begin_fence(call);
    complete_if_over(call);
}

// By the short way, what finish() does for a call that was sent and is answered, and nothing else: the slot of its
// reply is the caller's matter.
void ContextCore::finish_answered(Call& call, PeerBook& book, TimeUs now) noexcept {
    CINNABAR_DEBUG_ASSERT(call.state_ == Call::State::sent && !call.whole_way_ && call.nothing_beside_message());
    call.book_ = nullptr;
    call.state_ = Call::State::ended;
    call.ended_us_ = now;
    if (call.deadline_link_.linked) deadlines.remove(call);
    --book.sent;
    --book.users;
    call.completed_ = true;
    call.nothing_left_ = call.slot_index < messages_retained;
    hand_to_caller(call);
}

// What a call that went the whole way uses beside its message.
void ContextCore::let_go(Call& call, bool unanswered, bool target_may_know) noexcept {
    if (call.op_.state != na::OpState::idle && unanswered) na->cancel_owned(call.op_);
    if (call.pull_) mover->cancel(*call.pull_);
    const bool gave_memory = call.lends_ != nullptr || call.forwards_;
    call.awaiting_release_ = target_may_know && gave_memory && !closed_;
}

// The completion does not wait for the transport to let go of the message: what cannot be recalled may take until the
// connection is lost. The slot does.
void ContextCore::complete_if_over(Call& call) noexcept {
    if (call.state_ != Call::State::ended || call.awaiting_release_ || call.fences_ != 0) return;
    CINNABAR_DEBUG_ASSERT(call.whole_way_ || call.nothing_beside_message());
    const bool transport_is_done = !call.whole_way_ || (call.op_.state == na::OpState::idle && !call.pull_);
    if (transport_is_done) {
        if (PeerBook* book = std::exchange(call.book_, nullptr)) {
            --book->users;
            drop_book_if_idle(*book);
        }
    }
    if (!std::exchange(call.completed_, true)) {
        call.nothing_left_ = call.slot_index < messages_retained && call.holds_message_only();
        return hand_to_caller(call);
    }
    if (transport_is_done && call.free_when_over_) free_call(call);
}

// It may be free from here on.
void ContextCore::hand_to_caller(Call& call) noexcept {
    call.work_.run = [](Work& work) noexcept {
        Call& over = call_of(work.user);
        over.core_->deliver(over);
    };
    na->enqueue(call.work_);
}

void ContextCore::deliver(Call& call) noexcept {
    Call::Phase expected = Call::Phase::in_flight;
    if (call.phase_.compare_exchange_strong(expected, Call::Phase::outside)) {
        return call.done_(call, call.user_);
    }
    call.work_.run = [](Work& work) noexcept {
        Call& abandoned = call_of(work.user);
        abandoned.core_->free_call(abandoned);
    };
    run_owned(call.work_);
}

void ContextCore::free_call(Call& call) noexcept {
    if (call.cancel_generation_.load() != 0) {
        call.free_after_cancel_ = true;
        return;
    }
    if (call.op_.state != na::OpState::idle || call.pull_) {
        call.free_when_over_ = true;
        return;
    }
    call.free_after_cancel_ = call.free_when_over_ = false;
    while (RpcLend* lend = call.lends_) {  // a call that was never forwarded
        call.lends_ = lend->next;
        lend->next = nullptr;
        (void)fences.take_back(*lend, nullptr, 0, nullptr, nullptr);
    }
    release_reply(call);
    if (call.message_ && call.slot_index >= messages_retained) {
        call.port_->give_message(*std::exchange(call.message_, nullptr));
    }
    drop_overflow(call.large_input_, nullptr);
    drop_overflow(call.large_output_, nullptr);
    reuse(call);
    go_if_over();
}

}  // namespace cinnabar::rpc
