// SPDX-License-Identifier: BSD-3-Clause
#include "control.hpp"

#include "call_fences.hpp"
#include "credit_pool.hpp"
#include "large_values.hpp"
#include "origin.hpp"
#include "part_of.hpp"
#include "peers.hpp"
#include "send_queue.hpp"
#include "target.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
namespace {

// The maximum number of records in a message, whatever its size.
constexpr std::size_t batch_max = 1024;
constexpr std::size_t answers_spare = 256;

// The maximum number of `released` and `refused` records that wait for one peer. Cancels and one-way calls with large
// arguments cause `released`; any request may cause `refused`. An honest peer may cause one record for each of its
// requests at once: for those held here, at most half of requests_held_max (Target::crowded), and for those that its
// credits allow. A peer that causes more has sent further requests without acknowledging a control message.
std::size_t answers_max(const Options& options) noexcept {
    return std::size_t{2} * options.credits_per_peer_max + options.requests_held_max / 2 + answers_spare;
}

// Whether a control message is allowed: it has records and asks for an acknowledgement, or it acknowledges a message of
// this side, or both. If other messages were allowed, a peer could send control messages without limit, and so crowd
// out the messages of other peers.
bool may_come(std::uint8_t flags, std::uint16_t records, bool unacked) noexcept {
    const bool wants_ack = (flags & control_wants_ack) != 0;
    const bool is_ack = (flags & control_is_ack) != 0;
    if ((flags & ~(control_wants_ack | control_is_ack)) != 0 || wants_ack != (records != 0)) return false;
    return is_ack ? unacked : wants_ack;
}

}  // namespace

void Control::send(PeerBook& book, const ControlRecord& record) noexcept {
    if (base_.closed_ || !book.open) return;
    if ((record.type == ControlType::released || record.type == ControlType::refused) &&
        book.control.answers() >= answers_max(base_.options)) {
        return end_session(book, "acknowledges no control messages");
    }
    // There may be more cancels of this side than calls_max: an ended call frees its slot, and the next call in that
    // slot may time out as well.
    if (book.control.of_calls() >= std::size_t{2} * base_.options.calls_max) {
        return end_session(book, "acknowledges no control messages");
    }
    if (!book.control.put(record)) return end_session(book, "needs more memory than there is");
    flush(book);
}

// Logs one line per connection, so that a peer with many records in progress cannot fill the log.
void Control::end_session(PeerBook& book, const char* why) noexcept {
    if (!book.open || std::exchange(book.ending, true)) return;
    ++sessions_ended_;
    static constinit LogLimit lines;  // a peer that was cut off may reconnect
    const na::Addr& peer = book.peer->addr();
    log_limited(lines, LogLevel::warning, "rpc", {peer_field(peer)}, "%s %s and is cut off", peer.log_name().c_str(),
                why);
    book.peer->port().disconnect(*book.peer);
}

void Control::flush(PeerBook& book) noexcept {
    const bool records = !book.control.empty() && !book.control_unacked;
    if (!book.open || book.leaving == Leaving::gone || book.control_message || (!records && !book.owes_ack)) return;
    na::Message* message = book.peer->port().take_message();
    if (!message) return parts_.queue.try_later(book);
    const std::size_t room =
        std::min<std::size_t>(message->payload_bytes_max, book.peer->message_bytes_max()) - control_header_bytes;
    ControlQueue::Batch batch;
    if (records) batch = book.control.next(std::min(room / control_record_bytes, batch_max));
    ByteWriter writer(message->bytes());
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
    op.complete = bind<&Control::sent>;
    const Errc taken = base_.na->post_owned(op);
    if (taken != Errc::ok) {
        book.peer->port().give_message(*message);
        if (taken == Errc::again) parts_.queue.try_later(book);
        return;
    }
    book.control_message = message;
    book.bytes_sent += op.message_bytes;
    book.owes_ack = false;
    if (!records) return;
    book.control_unacked = true;
    book.control.taken(batch);
}

void Control::sent(PeerBook& book) noexcept {
    na::Message* message = std::exchange(book.control_message, nullptr);
    message->port->give_message(*message);
    if (!base_.closed_) flush(book);
    parts_.peers.drop_if_idle(book);
}

void Control::on_message(PeerBook& book, ConstBytes bytes) noexcept {
    ByteReader reader(bytes);
    std::uint8_t flags = 0;
    std::uint16_t records = 0;
    if (decode_control_header(reader, flags, records) != Errc::ok || !may_come(flags, records, book.control_unacked)) {
        return end_session(book, "sends a malformed control message");
    }
    if ((flags & control_is_ack) != 0) book.control_unacked = false;
    if ((flags & control_wants_ack) != 0) {
        // The peer cannot have received the acknowledgement of its previous message.
        if (book.owes_ack) return end_session(book, "sends control messages without waiting for acknowledgements");
        book.owes_ack = true;
    }
    for (std::uint16_t i = 0; i < records && book.open && !book.ending; ++i) apply(book, decode_control(reader));
    flush(book);
}

void Control::released(PeerBook& book, std::uint64_t id) noexcept {
    Call* const call = parts_.origin.find(id, &book);
    if (!call) return;
    if (call->whole_.awaiting_release) {
        parts_.call_fences.released(*call);
    } else if (call->args.one_way && call->use_.state == Call::State::sent) {
        parts_.origin.finish(*call, Errc::ok);
    }
}

void Control::apply(PeerBook& book, const ControlRecord& record) noexcept {
    switch (record.type) {
        case ControlType::grant:
            if (book.open) book.credits += record.value;
            return parts_.queue.pump(book);
        case ControlType::cancel:
            return parts_.target.cancel(book, record.call);
        case ControlType::released:
            return released(book, record.call);
        case ControlType::fetched:
            if (Request* request = parts_.target.find(book, record.call)) parts_.large_values.result_released(*request);
            return;
        case ControlType::ping:
            return send(book, {ControlType::pong, record.value, 0});
        case ControlType::pong:
            return;
        case ControlType::recall:
            return parts_.credits.give_back(book, record.value);
        case ControlType::returned:
            return parts_.credits.returned(book, record.value);
        case ControlType::refused:
            return parts_.origin.refused(book, record.call);
        case ControlType::leave:
            return parts_.peers.asked_to_leave(book);
        case ControlType::stay:
            return parts_.peers.stays(book);
        default:
            return;  // from a peer with a newer version
    }
}

}  // namespace cinnabar::rpc
