// SPDX-License-Identifier: BSD-3-Clause
// SealedSession: output.
#include "sealed/port.hpp"
#include "sealed/session.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace cinnabar::tls {

bool SealedSession::send_handshake() noexcept {
    while (!wire_.unsent().empty()) {
        Outlet::Draft piece;
        if (!outlet_.draft(piece, false)) return false;
        const ConstBytes unsent = wire_.unsent();
        const std::size_t bytes = std::min(unsent.size(), handshake_piece_bytes);
        encode_envelope(Envelope::handshake, std::span<std::byte, envelope_bytes>(piece.bytes, envelope_bytes));
        std::memcpy(piece.bytes + envelope_bytes, unsent.data(), bytes);
        if (!outlet_.ship(piece, envelope_bytes + bytes)) return false;
        wire_.sent(bytes);
    }
    return true;
}

// A ticket goes first: none may follow the greeting.
bool SealedSession::greet(na::HelloKind kind, const na::Hello& hello, std::uint64_t number) noexcept {
    Outlet::Draft greeting;
    if (!send_handshake() || !outlet_.draft(greeting, false)) return false;
    SealedGreeting own;
    own.hello = hello;
    own.hello.kind = kind;
    own.number = number;
    constexpr std::size_t bytes = SealedGreeting::wire_bytes;
    own.encode(std::span<std::byte, bytes>(greeting.contents(), bytes));
    SealedHead head;
    head.kind = static_cast<std::uint8_t>(SealedKind::greeting);
    return outlet_.seal(greeting, head, bytes);
}

bool SealedSession::send_message(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    Outlet::Draft out;
    if (!outlet_.draft(out, false)) return false;
    if (!message.empty()) std::memcpy(out.contents(), message.data(), message.size());
    SealedHead head;
    head.kind =
        static_cast<std::uint8_t>(kind == na::OpKind::send_unexpected ? SealedKind::unexpected : SealedKind::expected);
    head.id = tag;
    return outlet_.seal(out, head, message.size());
}

bool SealedSession::send_now(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    return is_open() && !blocked && peer_->messages.empty() && send_message(kind, tag, message);
}

// True: nothing is left to send.
bool SealedSession::send_messages() noexcept {
    while (na::PostedOp* const posted = peer_->messages.front()) {
        const na::Op& op = *posted->op;
        if (!outlet_.has_room(false)) return false;
        port_->show_delayed(*peer_, op);
        if (!send_message(op.kind, op.tag, {op.message->payload, op.message_bytes})) return false;
        peer_->messages.remove(*posted);
        port_->end(*posted, Errc::ok);
    }
    return true;
}

bool SealedSession::has_output() const noexcept {
    if (!wire_.unsent().empty()) return true;
    return is_open() && (!peer_->messages.empty() || !peer_->rma.empty() || access_.has_output());
}

// Sends messages first, then accesses, so that messages get in between the data of large accesses.
void SealedSession::transmit() noexcept {
    if (stage_ == Stage::leaving) {
        if (send_handshake() && outlet_.idle()) port_->end_soon(*this);
        return;
    }
    if (!live() || !send_handshake() || !is_open()) return;
    if (send_messages()) access_.send();
    if (is_open()) peer_->delayed = !peer_->messages.empty();
}

}  // namespace cinnabar::tls
