// SPDX-License-Identifier: BSD-3-Clause
// Sending calls. A request is written and sent on the fast path if nothing is queued before it and the transport takes
// it at once; otherwise it goes through the queue (send_queue.hpp) and is posted as an operation.
#include "context_core.hpp"
#include "plain_frame.hpp"

#include <algorithm>

namespace cinnabar::rpc {
// Runs when the request was sent, or was accepted by the transport.
inline void Origin::request_left(Call& call, PeerBook& book) noexcept {
    if (call.link_.linked) core_.queue.leave_sent(call);
    note_sent(call, book);
}

inline void Origin::note_sent(Call& call, PeerBook& book) noexcept {
    ++book.sent;
    call.use_.state = Call::State::sent;
    call.use_.was_sent = true;
    call.connection_ = book.connection;
    if (book.credits > 0) --book.credits;  // there are no credits before the connection is made
    if (core_.options.heartbeat.count() != 0) core_.peers.watch(book);
}

inline std::uint64_t Origin::time_left(const Call& call) const noexcept {
    const TimeUs now = core_.na->now_us();
    if (call.args.deadline == time_never) return time_left_none;
    return call.args.deadline > now ? call.args.deadline - now : 0;
}

// Writes the header in front of the arguments, and the fields that follow the arguments. Returns the size of the frame.
inline std::uint32_t Origin::write_request(Call& call, const PeerBook& book) const noexcept {
    const bool wants_credits = book.credits <= 1 && book.queued.front() != book.queued.back();
    RequestHeader header;
    header.flags = core_.frame_flags;
    if (call.whole_way_) {
        if (call.whole_.large) header.flags |= flag_large;
        if (call.whole_.place != 0) header.flags |= flag_place;
        header.place = call.whole_.place;
    }
    if (call.args.one_way) header.flags |= flag_one_way;
    if (wants_credits) header.flags |= flag_wants_credits;
    if (call.args.trace) [[unlikely]] {
        header.flags |= flag_trace;
        if (call.args.sampled == Sampled::no) header.flags |= flag_unsampled;
        header.trace = call.args.trace;
    }
    if (call.args.timed) [[unlikely]] {
        header.flags |= flag_times;
        call.sent_us_ = core_.na->clock().now_us();
        call.times_ = call.was_queued() ? Call::Times::asked_late : Call::Times::asked;
    }
    header.payload_bytes = call.input_bytes_;
    header.rpc = call.args.rpc;
    header.time_left_us = time_left(call);
    header.shape = call.args.shape;
    header.provider = call.args.provider;
    encode_request(header, call.message_->bytes());
    return static_cast<std::uint32_t>(request_header_bytes + call.input_bytes_ + behind_payload(header.flags));
}

// Fast path: true if the transport takes the request at once; then it was sent.
[[gnu::always_inline]] inline bool Origin::leaves_at_once(const Call& call, PeerBook& book,
                                                          std::uint32_t bytes) noexcept {
    book.bytes_sent += bytes;  // before it is sent, while the number is at hand
    if (book.open && core_.na->send_now(*book.peer, na::OpKind::send_unexpected, call.id(),
                                        ConstBytes(call.message_->payload, bytes))) [[likely]]
        return true;
    book.bytes_sent -= bytes;
    return false;
}

// Also records when the request is sent, which is now, unless on_delayed() corrects the time.
[[gnu::always_inline]] inline void Origin::ask_for_times(Call& call) const noexcept {
    PlainRequest::ask_for_times(call.message_->payload);
    // hl has just read the clock for began_us, without which the time is not used.
    call.sent_us_ = std::max(call.began_us, core_.na->now_us());
    call.times_ = Call::Times::asked;
}

// Sends a plain request, if no other call is queued. False: the transport cannot take it now.
[[gnu::always_inline]] inline bool Origin::send_plain(Call& call, PeerBook& book, std::uint64_t left) noexcept {
    PlainRequest::encode(call.message_->payload, call.input_bytes_, call.args.rpc, left, call.args.shape,
                         call.args.provider);
    if (call.args.timed) [[unlikely]]
        ask_for_times(call);
    const std::uint32_t bytes = static_cast<std::uint32_t>(request_header_bytes) + call.input_bytes_;
    if (!leaves_at_once(call, book, bytes)) [[unlikely]]
        return send_whole_way(call, bytes);
    note_sent(call, book);
    core_.replies.expect(book);
    return true;
}

// Charges the memory that the call lends to the target's quota in this context's policy. Then lends the large
// arguments, which are charged, too. Errors of Access::charge() and LargeValues::lend_input(); memory that was lent
// before an error stays in the list of the call.
Errc Origin::prepare_memory(Call& call) noexcept {
    for (RpcLend* lend = call.lends_; lend; lend = lend->next) {
        if (const Errc refused = core_.access.charge(call, *lend, lend->region().bytes()); refused != Errc::ok)
            return refused;
    }
    return call.large_input_ ? core_.large_values.lend_input(call) : Errc::ok;
}

// Confines what the call lends to its target and the guests of the memory, unless it was lent to anyone. Called when
// the request is sent and not earlier, because a device confines memory to the connection of that moment.
void Origin::confine_memory(const Call& call) noexcept {
    for (RpcLend* lend = call.lends_; lend; lend = lend->next) {
        if (lend->audience != Audience::anyone) lend->confine(*call.book_->peer);
    }
}

void Origin::submit(Call& call) noexcept {
    call.use_.state = Call::State::queued;
    const bool abandoned = call.phase_.load(std::memory_order_relaxed) == Call::Phase::abandoned;
    if (call.use_.canceled_early || abandoned || core_.closed_) return finish(call, Errc::canceled);
    const TimeUs deadline = call.args.deadline;
    const TimeUs now = deadline == time_never ? 0 : core_.na->present_us();
    if (deadline <= now) return finish(call, Errc::timed_out);
    na::Peer* peer = core_.na->known_peer(call.to_);
    if (!peer) {
        const auto found = core_.na->peer(call.to_);
        if (!found) return finish(call, found.code());
        peer = *found;
    }
    if (&peer->port() != call.port_) return finish(call, Errc::unreachable);
    PeerBook* book = core_.peers.book_of(*peer);
    if (!book) return finish(call, Errc::overloaded);
    call.book_ = book;
    ++book->users;
    if (call.whole_way_) [[unlikely]] {
        if (const Errc failed = prepare_memory(call); failed != Errc::ok) return finish(call, failed);
    }
    core_.deadlines.watch(call);
    // If no other call is queued, this one is sent without being queued, unless it has to wait.
    if (book->queued.empty() && core_.queue.may_send(*book)) {
        const bool plain = !call.whole_way_ && !call.args.one_way && !call.args.trace && core_.frame_flags == 0;
        static_assert(time_never == time_left_none);
        if (plain ? send_plain(call, *book, deadline - now) : send(call)) return;
    }
    if (!core_.queue.has_room(call.input_bytes_)) return finish(call, Errc::overloaded);
    core_.queue.enter(call, false);
    core_.queue.pump(*book);
}

// Updates the time left of a request that has waited in the transport. If its call has ended, the target is told that
// there is no time left.
void Origin::on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept {
    if (kind != na::OpKind::send_unexpected) return;
    if (frame_kind(message) != static_cast<std::uint8_t>(FrameKind::request)) return;
    Call* const call = find(tag, static_cast<PeerBook*>(peer.upper));
    const bool waits = call && call->use_.state == Call::State::sent;
    set_time_left(waits ? time_left(*call) : 0, message);
    if (waits && call->args.timed) call->sent_us_ = core_.na->clock().now_us();
}

// Slow path: the operation completes with request_sent().
Errc Origin::post_request(Call& call, std::uint32_t bytes) noexcept {
    call.whole_way_ = true;
    na::Op& op = call.op_;
    op.kind = na::OpKind::send_unexpected;
    op.peer = call.book_->peer;
    op.message = call.message_;
    op.message_bytes = bytes;
    op.tag = call.id();
    op.user = &call;
    op.complete = bind<&Origin::request_sent>;
    return core_.na->post_owned(op);
}

bool Origin::send(Call& call) noexcept {
    PeerBook& book = *call.book_;
    if (call.whole_way_) {
        if (call.whole_.shows_memory && !book.peer->of_own_user()) {
            finish(call, Errc::unsupported);
            return true;
        }
        confine_memory(call);
    }
    const std::uint32_t bytes = write_request(call, book);
    // A one-way call completes when it was sent, which only an operation reports.
    if (call.args.one_way || !leaves_at_once(call, book, bytes)) return send_whole_way(call, bytes);
    request_left(call, book);
    core_.replies.expect(book);
    return true;
}

bool Origin::send_whole_way(Call& call, std::uint32_t bytes) noexcept {
    PeerBook& book = *call.book_;
    Errc taken = post_request(call, bytes);
    if (taken == Errc::too_large && !call.whole_.large) {
        taken = core_.large_values.move_input(call);
        if (taken == Errc::ok) return send(call);
    }
    if (taken == Errc::again) {
        core_.queue.try_later(book);
        return false;
    }
    if (taken != Errc::ok) {
        finish(call, taken);
        return true;
    }
    ++book.posted;
    book.bytes_sent += bytes;
    request_left(call, book);
    if (call.args.one_way) {
        book.one_way_sent = true;
    } else {
        core_.replies.expect(book);
    }
    return true;
}

void Origin::request_sent(Call& call) noexcept {
    const Errc result = call.op_.result;
    PeerBook& book = *call.book_;
    const bool ended = call.use_.state == Call::State::ended;
    if (call.connection_ == book.connection) {
        --book.posted;
        if (result != Errc::ok) {
            // The request was not sent: its credit is free again, and so is the slot for its reply.
            if (book.open) ++book.credits;
            if (!call.args.one_way && (!ended || book.strict)) core_.replies.settle(book);
        }
    }
    if (ended) {
        core_.queue.pump(book);
        return complete_if_over(call);
    }
    if (result == Errc::ok) {
        if (call.args.one_way && !call.whole_.large) finish(call, Errc::ok);
        return;  // a reply ends the call; or `released`, if it is one-way and its arguments must still be fetched
    }
    call.use_.was_sent = false;
    const bool too_large = result == Errc::too_large && !call.whole_.large;
    call.whole_.may_have_left = book.open && result != Errc::too_large;
    const Errc by_bulk = too_large ? core_.large_values.move_input(call) : result;
    if (by_bulk == Errc::ok) {
        // The peer's message limit became known with its Hello: sends the same call again, with its arguments in bulk.
        --book.sent;
        core_.queue.enter(call, true);
        return core_.queue.pump(book);
    }
    if (!book.open) tell_why_lost(call, *book.peer);
    finish(call, by_bulk);
    // Calls that waited for this dial end in the same way, because dialling again for each of them would cause a storm.
    if (!book.open) core_.peers.close(book, result);
}

}  // namespace cinnabar::rpc
