// SPDX-License-Identifier: BSD-3-Clause
// What waits to be sent goes to the provider until it has no room: notes first, then messages, then transfers.
#include "port.hpp"
#include "session.hpp"

#include <cstring>

namespace cinnabar::ofi {

void Session::transmit() noexcept {
    if (!peer_ || peer_->ending) return;
    Sent sent = send_notes();
    if (open_ && sent == Sent::all) sent = send_messages();
    if (open_ && sent == Sent::all) sent = serve();
    if (open_ && sent == Sent::all) sent = post_transfers();
    // What they told the peer.
    if (sent == Sent::all) sent = send_notes();
    if (sent == Sent::stalled && peer_ && !peer_->ending) port_->stalled(*this);
}

// ok: taken; again: the provider has no room; overloaded: may_send() is false. After ok the buffer is with the fabric,
// or given back already.
Errc Session::send_buffer(Buffer& buffer, std::byte* frame) noexcept {
    if (!may_send()) return Errc::overloaded;
    const std::size_t bytes = buffer.frame_bytes;
    Endpoint& endpoint = port_->endpoint();
    if (bytes <= endpoint.inject_bytes_max() && injected_ + 1 < confirm_every) {
        const Errc why = endpoint.inject(frame, bytes, address_);
        if (why == Errc::ok) {
            ++unconfirmed_;
            ++injected_;
            if (buffer.note) {
                port_->notes().give(buffer);
            } else {
                port_->end(*std::exchange(buffer.posted, nullptr), Errc::ok);
            }
        }
        return why;
    }
    BufferPool& pool = buffer.note ? port_->notes() : port_->messages();
    Errc why = pool.register_with(endpoint, buffer);
    if (why != Errc::ok) return why;
    buffer.session = this;
    buffer.done = [](FabricOp& op, const Done& done) noexcept {
        auto& self = static_cast<Buffer&>(op);
        self.session->sent(self, done);
    };
    why = endpoint.send(frame, bytes, buffer.memory, address_, buffer);
    if (why != Errc::ok) return why;
    buffer.confirms = std::exchange(injected_, 0) + 1;
    port_->sends(1);
    ++unconfirmed_;
    if (buffer.posted) buffer.posted->place = Place::sending;
    sending_.push_back(buffer);
    ++with_fabric_;
    return Errc::ok;
}

void Session::sent(Buffer& buffer, const Done& done) noexcept {
    const Errc why = reason(done);
    sending_.remove(buffer);
    confirmed(buffer.confirms);
    if (buffer.note) {
        port_->notes().give(buffer);
    } else if (Posted* posted = std::exchange(buffer.posted, nullptr)) {
        port_->end(*posted, why);
    } else {
        port_->messages().give(buffer);
    }
    // A message that did not arrive leaves the books of both sides wrong.
    if (why != Errc::ok) fail(why);
    given_back();
}

// Where nothing with a completion is under way, one goes: else nothing would tell of room.
bool Session::may_send() noexcept {
    closed_ = unconfirmed_ >= port_->unconfirmed_allowed() && unconfirmed_ > injected_;
    return !closed_;
}

// Frames of one session leave in their order: what was injected before one that has left has left as well.
void Session::confirmed(std::uint32_t frames) noexcept {
    unconfirmed_ -= frames;
    port_->sends(-1);
    if (std::exchange(closed_, false) && peer_ && !peer_->ending) port_->dirty(*this);
}

Session::Sent Session::send_notes() noexcept {
    while (Buffer* buffer = notes_.front()) {
        notes_.remove(*buffer);
        --notes_count_;
        const Errc why = send_buffer(*buffer, buffer->storage);
        if (why == Errc::ok) continue;
        if (why == Errc::again || why == Errc::overloaded) {
            notes_.push_front(*buffer);
            ++notes_count_;
            return why == Errc::again ? Sent::stalled : Sent::unconfirmed;
        }
        port_->notes().give(*buffer);
        fail(why);
        return Sent::all;
    }
    return Sent::all;
}

Session::Sent Session::send_messages() noexcept {
    PostedList& waiting = peer_->messages;
    while (Posted* posted = waiting.front()) {
        const na::Op& op = *posted->op;
        auto& buffer = static_cast<Buffer&>(*op.message);
        std::byte* const frame = buffer.frame(frame_header_bytes);
        const FrameKind kind = op.kind == na::OpKind::send_unexpected ? FrameKind::unexpected : FrameKind::expected;
        encode(Frame{kind, 0, Errc::ok, op.message_bytes, remote_, op.tag}, {}, {frame, frame_header_bytes});
        const std::size_t size = padded(op.message_bytes);
        std::memset(buffer.payload + op.message_bytes, 0, size - op.message_bytes);
        buffer.frame_bytes = static_cast<std::uint32_t>(frame_header_bytes + size);
        buffer.posted = posted;
        waiting.remove(*posted);
        const Errc why = send_buffer(buffer, frame);
        if (why == Errc::ok) continue;
        buffer.posted = nullptr;
        if (why == Errc::again || why == Errc::overloaded) {
            waiting.push_front(*posted);
            return why == Errc::again ? Sent::stalled : Sent::unconfirmed;
        }
        port_->end(*posted, why);
        fail(why);
        return Sent::all;
    }
    return Sent::all;
}

// A frame of the plugin's own with room for `data_bytes` behind its head; null, and the session ends, when a limit is
// reached.
Buffer* Session::make_note(const Frame& frame, const TransferBody& body, std::size_t data_bytes) noexcept {
    Buffer* buffer = notes_count_ < notes_max ? port_->take_note(*this) : nullptr;
    if (!buffer) {
        fail(Errc::overloaded);
        return nullptr;
    }
    const std::size_t head = head_bytes(frame.kind);
    Frame named = frame;
    named.session = remote_;
    named.bytes = static_cast<std::uint32_t>(data_bytes);
    std::byte* const begin = buffer->storage;
    encode(named, body, {begin, head});
    std::memset(begin + head + data_bytes, 0, padded(data_bytes) - data_bytes);
    buffer->frame_bytes = static_cast<std::uint32_t>(head + padded(data_bytes));
    notes_.push_back(*buffer);
    ++notes_count_;
    port_->dirty(*this);
    return buffer;
}

void Session::note(const Frame& frame, const TransferBody& body) noexcept { (void)make_note(frame, body, 0); }

}  // namespace cinnabar::ofi
