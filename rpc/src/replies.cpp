// SPDX-License-Identifier: BSD-3-Clause
// Takes a reply from the transport, on the fast path if it is plain and small; reads the times in the reply; copies or
// keeps the reply; and ends the call.
#include "replies.hpp"

#include "context_core.hpp"
#include "plain_frame.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::rpc {
namespace {

// Copying a reply of at most this size costs less than keeping its receive slot.
constexpr std::size_t small_reply_bytes_max = 512;

}  // namespace

// Deferred, because the caller may be iterating over any list.
void Replies::wake_waiter() noexcept {
    if (waiters_.empty() || core_.closed_) return;
    core_.queue.look_soon(*waiters_.pop_front());
}

void Replies::settle_all(PeerBook& book) noexcept {
    expected_ -= std::exchange(book.replies_pending, 0);
    wake_waiter();
}

// Copies a small reply into the buffer of the request, which stays until the call is released. False: the reply is
// larger, or the transport still needs the buffer.
[[gnu::always_inline]] inline bool Replies::copy_small(Call& call, ConstBytes payload, ConstBytes& kept) noexcept {
    const bool left = !call.whole_way_ || call.op_.state == na::OpState::idle;
    if (payload.size() > small_reply_bytes_max || !left || !call.message_) return false;
    if (payload.size() > call.message_->payload_bytes_max) return false;
    std::memcpy(call.message_->payload, payload.data(), payload.size());
    kept = {call.message_->payload, payload.size()};
    return true;
}

// Out of memory: null.
TimedCalls* Replies::begin_timing(PeerBook& book) noexcept {
    book.timed.reset(new (std::nothrow) TimedCalls);
    return book.timed.get();
}

// Takes the times of a call that take_times() does not handle: the first timed call to a peer, a call that waited for
// its connection or for a credit, a long one, one whose times contradict each other, and one whose messages were the
// fastest so far. Limits the times that the target claims.
void Replies::take_unusual_times(PeerBook& book, Call& call, ConstBytes target_times) noexcept {
    const bool waits = call.times_ == Call::Times::asked || call.times_ == Call::Times::asked_late;
    if (!waits || !call.args.timed || call.began_us == 0) return;
    TimedCalls* const timed = book.timed ? book.timed.get() : begin_timing(book);
    const TargetTimes target = decode_times(target_times);
    const TimeUs answered = target.came_us + target.waited_us + target.handled_us;
    CallTimes times;
    times.made = call.began_us;
    times.left = times.made + detail::short_time(std::max(call.sent_us_, times.made) - times.made);
    times.answered = times.told = core_.na->now_us();
    times.connecting_us = static_cast<std::uint32_t>(std::clamp(book.opened, times.made, times.left) - times.made);
    times.for_credit_us = call.was_queued() ? call.for_credit_us_ : 0;
    times.there_us = timed ? timed->ways.there_us(call.sent_us_, target.came_us, answered, times.answered) : 0;
    times.waited_us = target.waited_us;
    times.handled_us = target.handled_us;
    times.transfers_us = target.transfers_us;
    const CallParts parts = parts_of(times);
    const auto part = [&](CallPart which) { return detail::short_time(parts[static_cast<std::size_t>(which)]); };
    call.queued_us_ = detail::two_times(part(CallPart::for_credit), part(CallPart::connecting));
    call.sent_us_ = detail::two_times(part(CallPart::wire_there), part(CallPart::queued));
    call.for_credit_us_ = part(CallPart::for_handler);
    call.in_handler_us_ = part(CallPart::in_handler);
    call.noted_opened_us_ = detail::two_times(part(CallPart::wire_back), part(CallPart::in_transfers));
    call.times_came(times.answered);
    if (timed) timed->count(parts, whole_of(times));
}

// Inlined: its callers have already saved the registers that it needs. `target_times`: of times_bytes.
[[gnu::always_inline]] inline void Replies::take_times(PeerBook& book, Call& call, ConstBytes target_times,
                                                       TimeUs now) noexcept {
    TimedCalls* const timed = book.timed.get();
    const TimeUs made = call.began_us;
    if (call.times_ != Call::Times::asked || !call.args.timed || !timed || book.opened > made) [[unlikely]]
        return take_unusual_times(book, call, target_times);
    const TimeUs sent = call.sent_us_;
    const std::byte* const at = target_times.data();
    const auto came = detail::load<TimeUs>(at + 12);
    const TimeUs there = came - sent;
    const TimeUs back = now - came - detail::load<std::uint32_t>(at) - detail::load<std::uint32_t>(at + 4);
    if (timed->ways.tells_more(there, back, now)) [[unlikely]]
        return take_unusual_times(book, call, target_times);
    // Two 32-bit numbers in each word. They add up to the whole modulo 2^32; if each is below 2^24, they do so exactly.
    const auto in_words = [](TimeUs lower, TimeUs upper) { return static_cast<std::uint32_t>(lower) | upper << 32; };
    const TimeUs ahead = timed->ways.ahead();
    const TimeUs transfers = detail::load<std::uint32_t>(at + 8);
    const TimeUs first = in_words(sent - made, there - ahead);
    const TimeUs second = detail::load<std::uint64_t>(at) - (transfers << 32);  // the handler's time without transfers
    const TimeUs third = in_words(transfers, back + ahead);
    const TimeUs whole = now - made;
    constexpr TimeUs beyond = (~TimeUs{0} << usual_time_bits & ~std::uint32_t{0}) * (TimeUs{1} | TimeUs{1} << 32);
    if (((first | second | third) & beyond) != 0 || (whole >> usual_time_bits) != 0) [[unlikely]]
        return take_unusual_times(book, call, target_times);
    call.times_ = Call::Times::usual;
    call.queued_us_ = 0;
    call.sent_us_ = first;
    call.for_credit_us_ = detail::lower_time(second);
    call.in_handler_us_ = detail::upper_time(second);
    call.noted_opened_us_ = third;
    timed->count_usual({first, second, third, whole << 32});
}

// Handles the answer to a call of the fast path, if its result is small. Any other answer: returns false, and changes
// nothing.
[[gnu::always_inline]] inline bool Replies::take_plain(PeerBook& book, na::Arrival& arrival, bool timed) noexcept {
    const PlainReply frame(arrival.bytes.data());
    Call* const found = core_.origin.find(arrival.tag, &book);
    if (!found) [[unlikely]]
        return false;
    Call& call = *found;
    if (call.use_.state != Call::State::sent || call.whole_way_) [[unlikely]]
        return false;
    if (!copy_small(call, {frame.payload(), frame.payload_bytes()}, call.use_.output)) [[unlikely]]
        return false;
    const TimeUs now = core_.na->now_us();
    if (timed) take_times(book, call, {frame.payload() + frame.payload_bytes(), times_bytes}, now);
    book.heard = now;
    book.bytes_received += frame.bytes();
    book.credits += frame.credits();
    call.use_.output_shape = frame.shape();
    core_.origin.finish_answered(call, book, now);
    settle(book);
    core_.queue.pump(book);
    core_.peers.drop_if_idle(book);
    return true;
}

void Replies::on_expected(na::Arrival& arrival) noexcept {
    auto* const book = static_cast<PeerBook*>(arrival.source->upper);
    const bool plain = book && PlainReply::is_plain(arrival.bytes, false);
    if (!plain || !take_plain(*book, arrival, false)) [[unlikely]]
        take_other(arrival);
}

// One in 64 plain replies has times. This function passes them on without the large stack frame of take_any().
void Replies::take_other(na::Arrival& arrival) noexcept {
    auto* const book = static_cast<PeerBook*>(arrival.source->upper);
    if (book && PlainReply::is_plain(arrival.bytes, true) && take_plain(*book, arrival, true)) return;
    take_any(arrival);
}

void Replies::take_any(na::Arrival& arrival) noexcept {
    PeerBook* book = core_.peers.book_of(*arrival.source);
    if (!book) return;
    book->heard = core_.na->now_us();
    book->bytes_received += arrival.bytes.size();
    ReplyHeader header;
    ConstBytes payload;
    Errc decoded = decode_plain_reply(arrival.bytes, header, payload);
    if (decoded == Errc::protocol) [[unlikely]]
        decoded = decode_timed_reply(arrival.bytes, header, payload);
    if (decoded == Errc::ok) {
        if (book->strict) settle(*book);
        book->credits += header.credits;
    } else if (decoded == Errc::protocol) {
        core_.control.end_session(*book, "sends a malformed reply");
    }
    // A late reply, or one from a wrong peer, belongs to no call. If a late reply has a large result, nothing need be
    // sent: the cancel that was sent when the call ended releases the result.
    if (Call* const call = core_.origin.find(arrival.tag, book)) {
        if (call->use_.state == Call::State::sent) {
            if (decoded == Errc::ok) {
                if ((header.flags & flag_times) != 0)
                    take_times(*book, *call, arrival.bytes.last(times_bytes), book->heard);
                accept(*call, arrival, header, payload);
            } else {
                if (decoded == Errc::bad_checksum) {
                    static constinit LogLimit lines;
                    log_limited(lines, LogLevel::warning, "rpc", {peer_field(call->to_), error_field(decoded)},
                                "a reply from %s has a wrong checksum", call->to_.log_name().c_str());
                }
                core_.origin.finish(*call, decoded);
            }
        } else if (call->whole_.awaiting_release) {
            // An answer, even a late one, shows that the handler no longer uses the lent memory.
            core_.call_fences.released(*call);
        }
    }
    core_.queue.pump(*book);
    core_.peers.drop_if_idle(*book);
}

// Keeps the reply until the call is released. If calls are not released, their replies must not use up all receive
// slots: when half of the slots are kept, further replies are copied.
Errc Replies::keep(Call& call, na::Arrival& arrival, ConstBytes payload, ConstBytes& kept) noexcept {
    if (copy_small(call, payload, kept)) return Errc::ok;
    call.whole_way_ = true;
    if (kept_ < slots_max_ / 2) {
        const Errc failed = arrival.port->keep(arrival, call.reply_);
        if (failed != Errc::ok) return failed;
        ++kept_;
        kept = call.reply_.bytes.subspan(reply_header_bytes, payload.size());
        return Errc::ok;
    }
    if (payload.empty()) return Errc::ok;
    if (const Errc over = core_.large_memory.reserve(payload.size(), {}); over != Errc::ok) return over;
    call.reply_copy_.reset(new (std::nothrow) std::byte[payload.size()]);
    if (!call.reply_copy_) {
        core_.large_memory.give_back(payload.size(), {});
        return Errc::out_of_memory;
    }
    call.reply_copy_bytes_ = static_cast<std::uint32_t>(payload.size());
    std::memcpy(call.reply_copy_.get(), payload.data(), payload.size());
    kept = ConstBytes(call.reply_copy_.get(), payload.size());
    return Errc::ok;
}

void Replies::release(Call& call) noexcept {
    if (call.reply_) {
        call.reply_.port->release(call.reply_);
        call.reply_ = {};
        --kept_;
        wake_waiter();
    }
    if (call.reply_copy_) core_.large_memory.give_back(std::exchange(call.reply_copy_bytes_, 0), {});
    call.reply_copy_.reset();
}

void Replies::accept(Call& call, na::Arrival& arrival, const ReplyHeader& header, ConstBytes payload) noexcept {
    call.use_.output_shape = header.shape;
    if (header.result != Errc::ok) {
        call.whole_way_ = true;  // errors of applications have a code and a text
        if (ConstBytes kept; payload.size() >= 4 && keep(call, arrival, payload, kept) == Errc::ok) {
            ByteReader reader(kept);
            call.whole_.app_code = reader.u32();
            call.whole_.app_text = as_text(reader.view(reader.left()));
        }
        // `again` and similar results cannot end a call.
        return core_.origin.finish(
            call, is_known(header.result) && header.result != Errc::again ? header.result : Errc::handler_failed);
    }
    const bool large = (header.flags & flag_large) != 0;
    if (!large && copy_small(call, payload, call.use_.output)) {
        return core_.origin.finish(call, Errc::ok);
    }
    ConstBytes kept;
    if (const Errc failed = keep(call, arrival, payload, kept); failed != Errc::ok) {
        if (large) core_.control.send(*call.book_, {ControlType::fetched, 0, arrival.tag});
        return core_.origin.finish(call, failed);
    }
    if (large) return core_.large_values.pull_output(call, kept);
    call.use_.output = kept;
    core_.origin.finish(call, Errc::ok);
}

}  // namespace cinnabar::rpc
