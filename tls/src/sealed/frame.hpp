// SPDX-License-Identifier: BSD-3-Clause
// The messages of sealed sessions (docs/wire-format-sealed.md). Each message begins with an envelope of 8 bytes in
// plain text. In a sealed message, a head of 16 bytes, a body and data follow, all encrypted, and then a trailer. Pure;
// the bytes are untrusted.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/access_frame.hpp>
#include <cinnabar/na/session/message_guard.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cinnabar::tls {

enum class Envelope : std::uint8_t {
    handshake = 1,  // bytes of TLS follow
    sealed = 2,
};

inline constexpr std::size_t envelope_bytes = 8;
inline constexpr std::size_t sealed_head_bytes = 16;
// The most bytes of the handshake in one message: with the envelope, it is as large as every peer accepts.
inline constexpr std::size_t handshake_piece_bytes = na::message_bytes_min - envelope_bytes;
// The most bytes by which a message of the transport below is longer than the message or data that it contains.
inline constexpr std::size_t sealed_overhead_bytes =
    envelope_bytes + sealed_head_bytes + na::access_body_bytes_max + na::MessageGuard::trailer_bytes;

// Kinds of sealed messages. A sealed message may also have a kind of na::AccessKind.
enum class SealedKind : std::uint8_t { greeting = 1, unexpected = 2, expected = 3 };

struct SealedHead {
    std::uint8_t kind = 0;  // a SealedKind or an na::AccessKind
    std::uint8_t flags = 0;
    Errc status = Errc::ok;
    std::uint64_t id = 0;  // the tag of a message, the id of an access

    void encode(std::span<std::byte, sealed_head_bytes> out) const noexcept;
    // False: a reserved byte is not zero.
    [[nodiscard]] bool decode(std::span<const std::byte, sealed_head_bytes> in) noexcept;
};

void encode_envelope(Envelope kind, std::span<std::byte, envelope_bytes> out) noexcept;
// False: the message is too short, its kind is unknown, or a reserved byte is not zero.
[[nodiscard]] bool decode_envelope(ConstBytes message, Envelope& kind) noexcept;

// What is authenticated together with a message: its envelope, and its number in its direction. Because of the number,
// messages can be opened only in the order in which they were sealed.
using SealedContext = std::array<std::byte, envelope_bytes + sizeof(std::uint64_t)>;
[[nodiscard]] SealedContext context_of(std::span<const std::byte, envelope_bytes> envelope,
                                       std::uint64_t number) noexcept;

// The first sealed message of each side.
struct SealedGreeting {
    na::Hello hello;
    // In a dial: a random number by which the process recognizes its own dials; see SelfDialNumbers.
    std::uint64_t number = 0;

    static constexpr std::size_t wire_bytes = na::hello_bytes + sizeof(std::uint64_t);
    void encode(std::span<std::byte, wire_bytes> out) const noexcept;
    // As na::Hello::decode.
    [[nodiscard]] Errc decode(ConstBytes in) noexcept;
};

}  // namespace cinnabar::tls
