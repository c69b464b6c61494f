// SPDX-License-Identifier: BSD-3-Clause
// The Hello: the first 40 bytes of every connection, on every transport that connects (docs/wire-format.md, "Hello"). A
// Hello fits into the private data of an RDMA connection request, with room for the transport's own data. Pure
// functions; the bytes are hostile input.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

inline constexpr std::size_t hello_bytes = 40;
inline constexpr std::uint8_t hello_version = 2;
// The message size that every peer must accept: room for a header, a descriptor and an error with its text.
inline constexpr std::uint32_t message_bytes_min = 512;

enum class HelloKind : std::uint8_t {
    dial = 1,    // the first lane of a session
    accept = 2,  // the answer to dial and lane
    reject = 3,  // the answer to dial and lane that ends the connection; `reason` says why
    lane = 4,    // a further lane of the session that `peer_incarnation` and the contexts name
};

struct Hello {
    HelloKind kind = HelloKind::dial;
    std::uint8_t reason = 0;              // an Errc; reject only
    std::uint32_t features = 0;           // requested by the sender; none is defined yet
    Incarnation incarnation = 0;          // of the sender
    Incarnation peer_incarnation = 0;     // the one that the sender expects the receiver to have; 0: any
    ContextId context = 0;                // of the sender
    ContextId peer_context = 0;           // of the receiver, as wanted by the sender; a dial may say any_context
    std::uint32_t message_bytes_max = 0;  // the largest payload that the sender accepts
    std::uint16_t credits = 0;            // unexpected messages that the sender accepts at once
    std::uint8_t lane = 0;
    std::uint8_t auth_method = 0;  // 0: none; no other is defined yet

    CINNABAR_API void encode(std::span<std::byte, hello_bytes> out) const noexcept;
    // Decodes a Hello. protocol: wrong magic, unknown kind, zero incarnation, message limit below message_bytes_min, a
    // reason outside of a reject, any_context where a context must be named. unsupported: another version, or an
    // unknown value that must not be ignored: a feature, an authentication method, a nonzero reserved byte; `out` is
    // filled in even then, because the answer needs it.
    [[nodiscard]] CINNABAR_API static Errc decode(ConstBytes in, Hello& out) noexcept;
};

}  // namespace cinnabar::na
