// SPDX-License-Identifier: BSD-3-Clause
#include "frame_sender.hpp"

#include "port.hpp"
#include "session.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace cinnabar::ofi {

void FrameSender::reset() noexcept {
    unconfirmed_ = injected_ = 0;
    refused_ = false;
}

// Gives a frame to the fabric. ok: the fabric has the buffer, or was done with it at once; again: the provider has no
// room; overloaded: may_send() is false; out_of_memory: the frame cannot be sealed.
Errc FrameSender::send(Buffer& buffer, std::byte* frame) noexcept {
    if (!may_send()) return Errc::overloaded;
    if (session_.seals() && !seal(buffer, frame)) return Errc::out_of_memory;
    OfiPort& port = session_.port();
    Endpoint& endpoint = port.endpoint();
    const std::size_t bytes = buffer.frame_bytes;
    if (bytes <= endpoint.inject_bytes_max() && injected_ + 1 < confirm_every) {
        const Errc why = endpoint.inject(frame, bytes, session_.fabric_address());
        if (why != Errc::ok) return why;
        ++unconfirmed_;
        ++injected_;
        if (buffer.control) {
            buffer.pool->give(buffer);
        } else {
            end_message(buffer, Errc::ok);
        }
        return Errc::ok;
    }
    Errc why = buffer.pool->register_with(endpoint, buffer);
    if (why != Errc::ok) return why;
    buffer.sender = this;
    buffer.done = [](FabricOp& op, const Done& done) noexcept {
        auto& self = static_cast<Buffer&>(op);
        self.sender->sent(self, done);
    };
    why = endpoint.send(frame, bytes, buffer.memory, session_.fabric_address(), buffer);
    if (why != Errc::ok) return why;
    buffer.confirms = std::exchange(injected_, 0) + 1;
    port.send_room().take();
    ++unconfirmed_;
    if (buffer.posted) buffer.posted->stage = na::OpStage::sending;
    sending_.push_back(buffer);
    session_.taken();
    return Errc::ok;
}

// Seals a frame once: a control frame that is sent again, because the fabric had no room, is sealed already.
bool FrameSender::seal(Buffer& buffer, std::byte* frame) noexcept {
    if (buffer.sealed) return true;
    if (!session_.seal_frame(frame, buffer.frame_bytes)) return false;
    buffer.frame_bytes += static_cast<std::uint32_t>(na::MessageGuard::trailer_bytes);
    buffer.sealed = true;
    return true;
}

void FrameSender::sent(Buffer& buffer, const Done& done) noexcept {
    const Errc why = session_.reason(done);
    sending_.remove(buffer);
    confirmed(buffer.confirms);
    if (buffer.control) {
        buffer.pool->give(buffer);
    } else {
        end_message(buffer, why);
    }
    // The frame was lost, so the two sides no longer agree about the session: it must end.
    if (why != Errc::ok) session_.fail(why);
    session_.given_back();
}

// Completes the op of a message, unless the op has ended already. Frees the buffer if the op had ended, or if the
// buffer is a copy of the message; otherwise the buffer belongs to the user of the message. Requires: the fabric does
// not have the buffer.
void FrameSender::end_message(Buffer& buffer, Errc why) noexcept {
    na::PostedOp* const posted = std::exchange(buffer.posted, nullptr);
    const bool stands_in = std::exchange(buffer.stands_in, false);
    if (posted) session_.port().end(*posted, why);
    if (!posted || stands_in) buffer.pool->give(buffer);
}

// Returns the buffer to send the op's message from: usually the message itself; a copy if frames are sealed, or if the
// fabric is still sending the message for an earlier op, which has ended. Null: no buffer is left, or out of memory.
Buffer* FrameSender::buffer_for(const na::Op& op) noexcept {
    auto& message = static_cast<Buffer&>(*op.message);
    const bool seals = session_.seals();
    if (!seals && !BufferPool::is_with_fabric(message)) return &message;
    OfiPort& port = session_.port();
    Buffer* const copy = (seals ? port.pools().sealed : port.messages()).take(port);
    if (!copy) return nullptr;
    copy->stands_in = true;
    copy->sealed = false;
    std::memcpy(copy->payload, message.payload, op.message_bytes);
    return copy;
}

// Returns false if the session has its share of frames pending and one of these frames will complete. If none of them
// has a completion, a further frame may be sent, because nothing else would ever report that there is room again.
bool FrameSender::may_send() noexcept {
    refused_ = unconfirmed_ >= session_.port().send_room().for_session() && unconfirmed_ > injected_;
    return !refused_;
}

// Frames of a session are sent in order, so frames injected before a completed one have been sent as well.
void FrameSender::confirmed(std::uint32_t frames) noexcept {
    unconfirmed_ -= frames;
    session_.port().send_room().give();
    if (std::exchange(refused_, false) && session_.live()) session_.port().output().add(session_);
}

Sent FrameSender::send_controls() noexcept {
    while (Buffer* buffer = controls_.front()) {
        controls_.remove(*buffer);
        --controls_count_;
        const Errc why = send(*buffer, buffer->storage);
        if (why == Errc::ok) continue;
        if (why == Errc::again || why == Errc::overloaded) {
            controls_.push_front(*buffer);
            ++controls_count_;
            return why == Errc::again ? Sent::blocked : Sent::unconfirmed;
        }
        buffer->pool->give(*buffer);
        session_.fail(why);
        return Sent::all;
    }
    return Sent::all;
}

Sent FrameSender::send_messages() noexcept {
    na::PostedOps& waiting = session_.peer().messages;
    while (na::PostedOp* posted = waiting.front()) {
        const na::Op& op = *posted->op;
        session_.port().show_delayed(session_.peer(), op);
        Buffer* const from = buffer_for(op);
        if (!from) return Sent::blocked;
        Buffer& buffer = *from;
        std::byte* const frame = buffer.frame(frame_header_bytes);
        const FrameKind kind = op.kind == na::OpKind::send_unexpected ? FrameKind::unexpected : FrameKind::expected;
        encode(Frame{kind, 0, Errc::ok, op.message_bytes, receiver_, op.tag}, {}, {frame, frame_header_bytes});
        const std::size_t size = padded(op.message_bytes);
        std::memset(buffer.payload + op.message_bytes, 0, size - op.message_bytes);
        buffer.frame_bytes = static_cast<std::uint32_t>(frame_header_bytes + size);
        buffer.posted = posted;
        waiting.remove(*posted);
        const Errc why = send(buffer, frame);
        if (why == Errc::ok) continue;
        buffer.posted = nullptr;
        if (buffer.stands_in) end_message(buffer, why);
        if (why == Errc::again || why == Errc::overloaded) {
            waiting.push_front(*posted);
            return why == Errc::again ? Sent::blocked : Sent::unconfirmed;
        }
        session_.port().end(*posted, why);
        session_.fail(why);
        return Sent::all;
    }
    return Sent::all;
}

bool FrameSender::send_now(FrameKind kind, na::Tag tag, ConstBytes message) noexcept {
    Endpoint& endpoint = session_.port().endpoint();
    const std::size_t bytes = frame_header_bytes + padded(message.size());
    const std::size_t sent_bytes = bytes + session_.trailer_bytes();
    if (message.size() > send_now_bytes_max || sent_bytes > endpoint.inject_bytes_max()) return false;
    if (injected_ + 1 >= confirm_every || !may_send()) return false;
    constexpr std::size_t room = frame_header_bytes + padded(send_now_bytes_max) + na::MessageGuard::trailer_bytes;
    alignas(8) std::array<std::byte, room> frame;
    encode(Frame{kind, 0, Errc::ok, static_cast<std::uint32_t>(message.size()), receiver_, tag}, {},
           Bytes(frame).first(frame_header_bytes));
    std::byte* const payload = frame.data() + frame_header_bytes;
    std::memset(frame.data() + bytes - sizeof(std::uint64_t), 0, message.empty() ? 0 : sizeof(std::uint64_t));
    std::memcpy(payload, message.data(), message.size());
    if (session_.seals() && !session_.seal_frame(frame.data(), bytes)) return false;
    if (endpoint.inject(frame.data(), sent_bytes, session_.fabric_address()) != Errc::ok) return false;
    ++unconfirmed_;
    ++injected_;
    return true;
}

Buffer* FrameSender::queue_control(const Frame& frame, const TransferBody& body, std::size_t data_bytes) noexcept {
    Buffer* buffer = controls_count_ < controls_max ? session_.port().pools().take_control(session_) : nullptr;
    if (!buffer) {
        session_.fail(Errc::overloaded);
        return nullptr;
    }
    const std::size_t head = head_bytes(frame.kind);
    Frame named = frame;
    named.session = receiver_;
    named.bytes = static_cast<std::uint32_t>(data_bytes);
    std::byte* const begin = buffer->storage;
    buffer->sealed = false;
    encode(named, body, {begin, head});
    std::memset(begin + head + data_bytes, 0, padded(data_bytes) - data_bytes);
    buffer->frame_bytes = static_cast<std::uint32_t>(head + padded(data_bytes));
    controls_.push_back(*buffer);
    ++controls_count_;
    session_.port().output().add(session_);
    return buffer;
}

void FrameSender::drop_controls() noexcept {
    while (Buffer* buffer = controls_.pop_front()) buffer->pool->give(*buffer);
    controls_count_ = 0;
}

void FrameSender::end(Errc why) noexcept {
    for (Buffer* buffer = sending_.front(); buffer; buffer = BufferList::next(*buffer)) {
        na::PostedOp* posted = std::exchange(buffer->posted, nullptr);
        if (!posted) continue;
        // From now on the message's user and the fabric each give the buffer back, and the second one frees it.
        if (!buffer->stands_in) buffer->holders.store(2, std::memory_order_release);
        session_.port().end(*posted, why);
    }
    drop_controls();
}

void FrameSender::abandon() noexcept {
    drop_controls();
    while (Buffer* buffer = sending_.pop_front()) {
        if (buffer->control) {
            buffer->pool->give(*buffer);
        } else {
            end_message(*buffer, Errc::canceled);
        }
    }
}

}  // namespace cinnabar::ofi
