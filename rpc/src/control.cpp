// SPDX-License-Identifier: BSD-3-Clause
// Control messages: grants, cancels, releases, pings; what gathers while one is out leaves together. A message that
// carries records wants an acknowledgement before the next one goes, so that two receive slots for each connection are
// enough: one for it and one for an acknowledgement. A peer that acknowledges nothing cannot make this side gather more
// than a bounded number of records (control_queue.hpp).
#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
namespace {

// The most records that a message has, whatever its size.
constexpr std::size_t batch_max = 1024;
// A peer brings `released` about by canceling and by one-way calls with large arguments, `refused` by any request. It
// has at most its credits of requests here at a time, and others come only after some time without an acknowledgement.
constexpr std::size_t answers_spare = 256;

}  // namespace

void ContextCore::send_control(PeerBook& book, const ControlRecord& record) noexcept {
    if (closed_ || !book.open) return;
    if ((record.type == ControlType::released || record.type == ControlType::refused) &&
        book.control.answers() >= std::size_t{2} * options.credits_per_peer_max + answers_spare) {
        return end_session(book, "acknowledges no control messages");
    }
    // Own cancels: a call that ended has its slot back, and the next one may time out as well.
    if (book.control.of_calls() >= std::size_t{2} * options.calls_max) {
        return end_session(book, "acknowledges no control messages");
    }
    if (!book.control.put(record)) return end_session(book, "needs more memory than there is");
    flush_control(book);
}

// For a peer that breaks the rules, or that this side has no memory for. One line for each connection: a peer that has
// many of its records under way when it is cut off fills no log.
void ContextCore::end_session(PeerBook& book, const char* why) noexcept {
    if (!book.open || std::exchange(book.ending, true)) return;
    ++sessions_ended;
    static constinit LogLimit lines;  // whoever is cut off may come again
    log_limited(lines, LogLevel::warning, "rpc", "%s %s and is cut off", book.peer->addr().log_name().c_str(), why);
    book.peer->port().disconnect(*book.peer);
}

void ContextCore::flush_control(PeerBook& book) noexcept {
    const bool records = !book.control.empty() && !book.control_unacked;
    if (!book.open || book.leaving == Leaving::gone || book.control_message || (!records && !book.owes_ack)) return;
    na::Message* message = book.peer->port().take_message();
    if (!message) return try_later(book);
    const std::size_t room =
        std::min<std::size_t>(message->payload_bytes_max, book.peer->message_bytes_max()) - control_header_bytes;
    ControlQueue::Batch batch;
    if (records) batch = book.control.next(std::min(room / control_record_bytes, batch_max));
    Writer writer(message->bytes());
    const auto flags =
        static_cast<std::uint8_t>((records ? control_wants_ack : 0) | (book.owes_ack ? control_is_ack : 0));
    encode_control_header(flags, static_cast<std::uint16_t>(batch.count), writer);
    book.control.encode(batch, writer);

    na::Op& op = book.control_op;
    op.kind = na::OpKind::send_unexpected;
    op.peer = book.peer;
    op.message = message;
    op.message_bytes = static_cast<std::uint32_t>(writer.size());
    op.tag = 0;
    op.user = &book;
    op.complete = [](na::Op& sent) noexcept {
        PeerBook& sender = *static_cast<PeerBook*>(sent.user);
        sender.core->control_sent(sender, sent.result);
    };
    const Errc taken = na->post_owned(op);
    if (taken != Errc::ok) {
        book.peer->port().give_message(*message);
        if (taken == Errc::again) try_later(book);
        return;
    }
    book.control_message = message;
    book.owes_ack = false;
    if (!records) return;
    book.control_unacked = true;
    book.control.taken(batch);
}

void ContextCore::control_sent(PeerBook& book, Errc) noexcept {
    na::Message* message = std::exchange(book.control_message, nullptr);
    message->port->give_message(*message);
    if (!closed_) flush_control(book);
    drop_book_if_idle(book);
}

void ContextCore::on_control(PeerBook& book, ConstBytes bytes) noexcept {
    Reader reader(bytes);
    std::uint8_t flags = 0;
    std::uint16_t records = 0;
    if (decode_control_header(reader, flags, records) != Errc::ok) {
        return end_session(book, "sends a control message that makes no sense");
    }
    if ((flags & control_is_ack) != 0) book.control_unacked = false;
    if (records != 0 || (flags & control_wants_ack) != 0) {
        // It cannot have the acknowledgement of the one before. Unchecked, its messages would hold up all others.
        if (book.owes_ack) return end_session(book, "sends control messages without waiting for acknowledgements");
        book.owes_ack = (flags & control_wants_ack) != 0;
    }
    for (std::uint16_t i = 0; i < records && book.open && !book.ending; ++i)
        apply_control(book, decode_control(reader));
    flush_control(book);
}

void ContextCore::apply_control(PeerBook& book, const ControlRecord& record) noexcept {
    switch (record.type) {
        case ControlType::grant:
            add_credits(book, record.value);
            pump(book);
            break;
        case ControlType::cancel:
            if (Request* request = find_request(book, record.call)) {
                cancel_request(*request);
            } else if (!transport_of(book.peer->port())->caps().ordered) {
                tombstones[tombstone_next++ % tombstones.size()] = {book.peer, record.call};
                tombstones_used = true;
            }
            // Else it was answered already, and the answer, which is on its way, says the same as `released`.
            break;
        case ControlType::released:
            if (Call* call = calls.at(static_cast<std::uint32_t>(record.call & ((1u << call_slot_bits) - 1)));
                call && call->id() == record.call && call->book_ == &book) {
                if (call->awaiting_release_) {
                    release_came(*call);
                } else if (call->args.one_way && call->state_ == Call::State::sent) {
                    finish(*call, Errc::ok);
                }
            }
            break;
        case ControlType::fetched:
            if (Request* request = find_request(book, record.call)) result_released(*request);
            break;
        case ControlType::ping:
            send_control(book, {ControlType::pong, record.value, 0});
            break;
        case ControlType::pong:
            break;
        case ControlType::recall:
            return_credits(book, record.value);
            break;
        case ControlType::returned:
            credits_returned(book, record.value);
            break;
        case ControlType::refused:
            request_refused(book, record.call);
            break;
        case ControlType::leave:
            asked_to_leave(book);
            break;
        case ControlType::stay:
            peer_stays(book);
            break;
        default:
            break;  // of a newer peer
    }
}

}  // namespace cinnabar::rpc
