// SPDX-License-Identifier: BSD-3-Clause
// SealedSession: input. Bytes are untrusted until they have been opened; even then, a peer of proven identity may have
// sent malformed ones.
#include "sealed/port.hpp"
#include "sealed/session.hpp"

#include <cinnabar/base/log.hpp>

#include <cstring>
#include <string>

namespace cinnabar::tls {
namespace {

constexpr std::size_t sealed_bytes_min = envelope_bytes + sealed_head_bytes + na::MessageGuard::trailer_bytes;

}  // namespace

void SealedSession::arrived(ConstBytes message) noexcept {
    if (!live()) return;
    Envelope kind{};
    if (!decode_envelope(message, kind)) return fail(Errc::protocol);
    if (kind == Envelope::sealed) return opened(message);
    const ConstBytes bytes = message.subspan(envelope_bytes);
    if (bytes.empty() || stage_ == Stage::open) return fail(Errc::protocol);
    if (stage_ == Stage::shaking) return shake(bytes);
    after_handshake(bytes);
}

// Copies the message and opens the copy: opening decrypts in place, and the peer may share the memory of the transport
// below.
void SealedSession::opened(ConstBytes message) noexcept {
    const std::size_t bytes_max = port_->transport().below_message_bytes_max();
    if (stage_ == Stage::shaking || message.size() < sealed_bytes_min || message.size() > bytes_max)
        return fail(Errc::protocol);
    na::ReceiveBlock* const block = port_->blocks().take(message.size());
    if (!block) return fail(Errc::out_of_memory);
    const Bytes copy(block->bytes(), message.size());
    std::memcpy(copy.data(), message.data(), message.size());
    const SealedContext context = context_of(std::span<const std::byte, envelope_bytes>(copy.first<envelope_bytes>()),
                                             opened_);
    if (seal_->open(na::MessageGuard::Kind::frame, context, copy.subspan(envelope_bytes))) {
        ++opened_;
        const Bytes plain =
            copy.subspan(envelope_bytes, copy.size() - envelope_bytes - na::MessageGuard::trailer_bytes);
        SealedHead head;
        if (head.decode(std::span<const std::byte, sealed_head_bytes>(plain.first<sealed_head_bytes>()))) {
            take(head, plain.subspan(sealed_head_bytes), block);
        } else {
            fail(Errc::protocol);
        }
    } else {
        static constinit LogLimit lines;
        const std::string_view scheme = port_->transport().scheme();
        const std::string peer = (peer_ ? peer_->addr() : below_->addr()).log_name();
        log_limited(lines, LogLevel::warning, LogModule::named(scheme),
                    {peer_field(peer), transport_field(scheme), error_field(Errc::protocol)},
                    "a message of %s was changed, repeated or left out on its way: the session ends", peer.c_str());
        fail(Errc::protocol);
    }
    port_->blocks().unreference(*block);
}

void SealedSession::take(const SealedHead& head, ConstBytes rest, void* block) noexcept {
    const bool plain_head = head.flags == 0 && head.status == Errc::ok;
    if (head.kind == static_cast<std::uint8_t>(SealedKind::greeting)) {
        if (stage_ != Stage::greeting || !plain_head || head.id != 0) return fail(Errc::protocol);
        SealedGreeting theirs;
        const Errc wrong = theirs.decode(rest);
        return port_->greeted(*this, theirs, wrong);
    }
    if (stage_ != Stage::open) return fail(Errc::protocol);
    if (na::is_access(head.kind)) return access_.take(head, rest);
    if (!plain_head) return fail(Errc::protocol);
    take_message(head, rest, block);
}

void SealedSession::take_message(const SealedHead& head, ConstBytes message, void* block) noexcept {
    if (message.size() > port_->options().message_bytes_max) return fail(Errc::protocol);
    na::Arrival arrival{message, peer_, head.id, port_, block, 0};
    na::Receiver& receiver = port_->host().receiver();
    if (head.kind == static_cast<std::uint8_t>(SealedKind::unexpected)) {
        receiver.on_unexpected(arrival);
    } else if (head.kind == static_cast<std::uint8_t>(SealedKind::expected)) {
        receiver.on_expected(arrival);
    } else {
        fail(Errc::protocol);
    }
}

}  // namespace cinnabar::tls
