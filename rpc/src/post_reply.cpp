// SPDX-License-Identifier: BSD-3-Clause
// Replies on the slow path: a reply is written, posted as an operation, and tried again later while the transport has
// no room. A reply is over when it was sent or cannot be sent. Replies on the fast path: request.cpp.
#include "context_core.hpp"
#include "plain_frame.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>

namespace cinnabar::rpc {
namespace {

// Limits each time to the range that it has in the answer: 0 to 2^32 - 1 us.
[[gnu::cold, gnu::noinline]] TargetTimes cut_times(TimeUs came, TimeUs began, TimeUs answered,
                                                   TimeUs transfers_us) noexcept {
    const auto span = [](TimeUs from, TimeUs to) {
        return static_cast<std::uint32_t>(std::min<TimeUs>(to - std::min(from, to), ~std::uint32_t{0}));
    };
    return {span(came, began), span(began, answered), span(0, transfers_us), 0};
}

}  // namespace

[[gnu::always_inline]] inline TargetTimes Serving::times_of(const Request& request, bool whole_way) const noexcept {
    // Never earlier than this round of the owner, because an answer by another thread may have waited for it.
    const TimeUs answered =
        request.ended_us_ != 0 ? std::max(request.ended_us_, core_.na->now_us()) : core_.na->clock().now_us();
    const TimeUs began = request.handler_us_ != 0 ? request.handler_us_ : answered;
    TimeUs transfers_us = whole_way ? request.transfers_us_ : 0;
    if (whole_way && request.transfers_) transfers_us += answered - std::min(request.transfers_since_us_, answered);
    const TimeUs waited = began - request.came_us_;
    const TimeUs handled = answered - began;
    TargetTimes times{static_cast<std::uint32_t>(waited), static_cast<std::uint32_t>(handled),
                      static_cast<std::uint32_t>(transfers_us), 0};
    if (((waited | handled | transfers_us) >> 32) != 0) [[unlikely]]  // too long, or below zero
        times = cut_times(request.came_us_, began, answered, transfers_us);
    times.came_us = request.came_us_ - request.book_->opened;
    return times;
}

// Writes the reply into the request's message. Requires: there is a message.
ConstBytes Serving::write_reply(Request& request, std::uint16_t given) const noexcept {
    ReplyHeader header;
    header.result = request.answer_;
    header.flags = core_.frame_flags;
    if (request.output_is_lent()) header.flags |= flag_large;
    header.payload_bytes = request.output_bytes_;
    header.shape = request.output_shape_;
    header.credits = given;
    if (request.asks_.timed()) [[unlikely]]
        return write_timed_reply(request, header);
    encode_reply(header, request.message_->bytes());
    return {request.message_->payload, reply_header_bytes + request.output_bytes_};
}

// Leaves out the times if the message has no room for them.
ConstBytes Serving::write_timed_reply(Request& request, ReplyHeader& header) const noexcept {
    const Bytes room = request.message_->bytes();
    std::size_t bytes = reply_header_bytes + request.output_bytes_;
    if (bytes + times_bytes <= room.size()) {
        header.flags |= flag_times;
        encode_times(times_of(request, request.whole_way()), room.subspan(bytes, times_bytes));
        bytes += times_bytes;
    }
    encode_reply(header, room);
    return {request.message_->payload, bytes};
}

// For add_times(): the clock has to be read, a time is long, or the message has no room for the times.
ConstBytes Serving::add_unusual_times(Request& request, ConstBytes reply) const noexcept {
    const na::Message& message = *request.message_;
    const std::size_t bytes = reply.size() + times_bytes;
    if (bytes > message.payload_bytes_max) return reply;
    PlainReply::add_times(message.payload, reply.size(), times_of(request, false));
    return {message.payload, bytes};
}

// Adds the times to an encoded plain reply, unless the message has no room for them. The time of transfers is 0, since
// a request on the fast path has none. Not inlined, because few requests are timed.
ConstBytes Serving::add_times(Request& request, ConstBytes reply) const noexcept {
    const na::Message& message = *request.message_;
    const TimeUs ended = request.ended_us_;
    const TimeUs answered = std::max(ended, core_.na->now_us());  // see times_of()
    const TimeUs waited = request.handler_us_ - request.came_us_;
    const TimeUs handled = answered - request.handler_us_;
    const std::size_t bytes = reply.size() + times_bytes;
    if (ended == 0 || ((waited | handled) >> 32) != 0 || bytes > message.payload_bytes_max) [[unlikely]]
        return add_unusual_times(request, reply);
    request.asks_.bits &= static_cast<std::uint8_t>(~RequestAsks::times);  // the next request need not reset it
    PlainReply::add_times(message.payload, reply.size(),
                          {static_cast<std::uint32_t>(waited), static_cast<std::uint32_t>(handled), 0,
                           request.came_us_ - request.book_->opened});
    return {message.payload, bytes};
}

// Slow path: the operation completes with reply_sent().
Errc Serving::post_reply_op(Request& request, ConstBytes reply) noexcept {
    request.go_whole_way();
    na::Op& op = request.op_;
    op.kind = na::OpKind::send_expected;
    op.peer = request.book_->peer;
    op.message = request.message_;
    op.message_bytes = static_cast<std::uint32_t>(reply.size());
    op.tag = request.tag_;
    op.user = &request;
    op.complete = bind<&Serving::reply_sent>;
    return core_.na->post_owned(op);
}

void Serving::post_reply(Request& request) noexcept {
    if (request.one_way_ || request.use_.orphaned || core_.closed_) {
        if (request.use_.users_gone) core_.credits.return_slot(request);  // nothing else would return it later
        return reply_over(request, request.one_way_ ? Errc::ok : core_.closed_ ? Errc::closed : Errc::peer_lost);
    }
    PeerBook& book = *request.book_;
    // If nothing holds the receive slot any more, its credit is sent with this reply.
    if (!request.holds_slot() || request.use_.users_gone || request.references_.load(std::memory_order_acquire) == 0) {
        core_.credits.return_slot(request);
    }
    if (!request.message_) request.message_ = request.port_->take_message();
    Errc taken = request.message_ ? Errc::ok : Errc::again;
    const bool large = request.answer_ == Errc::ok && request.output_is_large();
    if (large && request.canceled_.load(std::memory_order_relaxed)) {
        request.answer_ = Errc::canceled;  // the result will not be fetched, so no memory is leased
        request.output_bytes_ = 0;
        return post_reply(request);
    }
    if (taken == Errc::ok && large && !request.lend_) {
        if (const Errc failed = core_.large_values.lend_result(request); failed != Errc::ok) request.answer_ = failed;
    }
    if (taken == Errc::ok) {
        const std::uint16_t credits = core_.credits.for_reply(book);
        const ConstBytes reply = write_reply(request, credits);
        // Fast path: the transport takes the reply at once. Not used if the handler wants to know when the reply was
        // sent, or if a large result has to be kept after the reply was sent.
        if ((!request.whole_way() || (!request.on_sent_ && !request.lend_)) &&
            core_.na->send_now(*book.peer, na::OpKind::send_expected, request.tag_, reply)) {
            book.bytes_sent += reply.size();
            return reply_over(request, Errc::ok);
        }
        taken = post_reply_op(request, reply);
        if (taken == Errc::ok) {
            request.whole_.reply_posted = true;
            book.bytes_sent += reply.size();
            core_.credits.reply_begins(book);
            return;
        }
        book.account.take_back(credits);
        core_.credits.watch_starving(book);
    }
    if (taken == Errc::again) return post_reply_later(request);
    if (taken == Errc::too_large && request.answer_ == Errc::ok && !request.large_output_) {
        // The origin accepts only smaller messages than this side: sends the result in bulk, or else an error.
        if (const Errc failed =
                core_.large_memory.allocate(request.output_bytes_, request.large_output_, payer_of(request));
            failed == Errc::ok) {
            request.large_output_.copy_in(0,
                                          request.message_->bytes().subspan(reply_header_bytes, request.output_bytes_));
        } else {
            request.answer_ = failed;
            core_.access.tell_refused_bytes(request);
            request.output_bytes_ = Access::explain_refused_bytes(request);
        }
        return post_reply(request);
    }
    reply_over(request, taken);
}

void Serving::post_reply_later(Request& request) noexcept {
    // Sets the function anew, because the work may still have the function of an earlier step: answer_now() posts a
    // reply without using the work.
    request.work_.run = [](WorkItem& work) noexcept {
        Request& later = request_of(work.user);
        later.core_->credits.reply_begins_later(*later.book_);
        later.core_->serving.post_reply(later);
    };
    core_.credits.reply_begins(*request.book_);
    request.book_->unsent_replies.push_back(request.work_);
    core_.queue.try_later(*request.book_);
}

void Serving::reply_sent(Request& request) noexcept {
    request.whole_.reply_posted = false;
    core_.credits.reply_left(*request.book_);
    if (request.lend_ && !request.lend_->fencing && request.op_.result == Errc::ok)
        core_.large_values.keep_result(request);
    if (request.op_.result != Errc::ok) reply_failed(request);
    reply_over(request, request.op_.result);
}

// Call when the reply could not be sent: takes its credits back, and releases its large result, which the peer can no
// longer fetch.
void Serving::reply_failed(Request& request) noexcept {
    PeerBook& book = *request.book_;
    ReplyHeader header;
    ConstBytes payload;
    const ConstBytes reply = ConstBytes(request.message_->bytes()).first(request.op_.message_bytes);
    if (!request.use_.orphaned && decode_reply(reply, header, payload) == Errc::ok) {
        book.account.take_back(header.credits);
        core_.credits.watch_starving(book);
    }
    if (request.lend_) core_.large_values.result_released(request);
}

void Serving::reply_over(Request& request, Errc result) noexcept {
    request.use_.reply_done = true;
    if (!request.whole_way() || !request.on_sent_) return free_if_over(request);
    if (core_.closed_) {  // no thread calls trigger() any more
        request.on_sent_ = nullptr;
        return request.release();
    }
    request.sent_result_ = result;
    request.sent_work_.user = &request;
    request.sent_work_.run = [](WorkItem& work) noexcept {
        Request& over = request_of(work.user);
        std::exchange(over.on_sent_, nullptr)(over, over.sent_result_, over.on_sent_user_);
        over.release();
    };
    core_.na->enqueue(request.sent_work_);
}

}  // namespace cinnabar::rpc
