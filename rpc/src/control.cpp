// SPDX-License-Identifier: BSD-3-Clause
// Control messages: grants, cancels, releases, pings; what gathers while one is out leaves together. A message that
// carries records wants an acknowledgement before the next one goes, so that two receive slots for each connection are
// enough: one for it and one for an acknowledgement.
#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>

namespace cinnabar::rpc {
namespace {

// More than this waiting means that the peer does not acknowledge: then it is cut off.
constexpr std::size_t control_records_max = 65'536;

}  // namespace

void ContextCore::send_control(PeerBook& book, const ControlRecord& record) noexcept {
    if (closed_ || !book.open) return;
    if (book.control.size() >= control_records_max) {
        log(LogLevel::warning, "%s acknowledges no control messages and is cut off",
            book.peer->addr().to_string().c_str());
        return book.peer->port().disconnect(*book.peer);
    }
    book.control.push_back(record);
    flush_control(book);
}

void ContextCore::flush_control(PeerBook& book) noexcept {
    const bool records = !book.control.empty() && !book.control_unacked;
    if (!book.open || book.leaving == Leaving::gone || book.control_message || (!records && !book.owes_ack)) return;
    na::Message* message = book.peer->port().take_message();
    if (!message) return try_later(book);
    const std::size_t room =
        std::min<std::size_t>(message->payload_bytes_max, book.peer->message_bytes_max()) - control_header_bytes;
    const std::size_t count =
        records ? std::min({book.control.size(), room / control_record_bytes, std::size_t{1024}}) : 0;
    Writer writer(message->bytes());
    const auto flags =
        static_cast<std::uint8_t>((count > 0 ? control_wants_ack : 0) | (book.owes_ack ? control_is_ack : 0));
    encode_control_header(flags, static_cast<std::uint16_t>(count), writer);
    for (std::size_t i = 0; i < count; ++i) encode_control(book.control[i], writer);

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
        if (taken == Errc::again || taken == Errc::connecting) try_later(book);
        return;
    }
    book.control_message = message;
    book.owes_ack = false;
    if (count > 0) {
        book.control_unacked = true;
        book.control.erase(book.control.begin(), book.control.begin() + static_cast<std::ptrdiff_t>(count));
    }
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
        log(LogLevel::warning, "a control message from %s makes no sense", book.peer->addr().to_string().c_str());
        return;
    }
    if ((flags & control_is_ack) != 0) book.control_unacked = false;
    if ((flags & control_wants_ack) != 0) book.owes_ack = true;
    for (std::uint16_t i = 0; i < records && book.open; ++i) apply_control(book, decode_control(reader));
    flush_control(book);
}

void ContextCore::apply_control(PeerBook& book, const ControlRecord& record) noexcept {
    // What a connection before this one left behind may have the same tag, of a peer that was started anew.
    const auto held = [&]() -> Request* {
        for (Request* request = book.held.front(); request; request = PeerBook::Requests::next(*request)) {
            if (request->tag_ == record.call && !request->orphaned_) return request;
        }
        return nullptr;
    };
    switch (record.type) {
        case ControlType::grant:
            add_credits(book, record.value);
            pump(book);
            break;
        case ControlType::cancel:
            if (Request* request = held()) {
                cancel_request(*request);
            } else if (!transport_of(book.peer->port())->caps().ordered) {
                tombstones[tombstone_next++ % tombstones.size()] = {book.peer, record.call};
                tombstones_used = true;
            } else {
                // Answered already, or refused: either way nothing of it runs here.
                send_control(book, {ControlType::released, 0, record.call});
            }
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
            if (Request* request = held()) result_released(*request);
            break;
        case ControlType::ping:
            send_control(book, {ControlType::pong, record.value, record.call});
            break;
        case ControlType::pong:
            break;
        case ControlType::recall:
            return_credits(book, record.value);
            break;
        case ControlType::returned:
            credits_returned(book, record.value);
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
