// SPDX-License-Identifier: BSD-3-Clause
// The first bytes of every connection, the same on every transport that connects: 40 bytes, so that they fit the
// private data of an RDMA connection request with room for what a transport adds. docs/wire-format.md, "Hello". Pure;
// the bytes are hostile input.
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
// What every peer accepts in one message: room for a header, a descriptor and an error with its text.
inline constexpr std::uint32_t message_bytes_min = 512;

enum class HelloKind : std::uint8_t {
    dial = 1,    // the first lane of a session
    accept = 2,  // the answer to either
    reject = 3,  // the answer that ends it; `reason` says why
    lane = 4,    // a further lane of the session that `peer_incarnation` and the contexts name
};

struct Hello {
    HelloKind kind = HelloKind::dial;
    std::uint8_t reason = 0;              // an Errc; reject only
    std::uint32_t features = 0;           // what the sender asks for; none is known
    Incarnation incarnation = 0;          // of the sender
    Incarnation peer_incarnation = 0;     // whom the sender means; 0 for anybody
    ContextId context = 0;                // of the sender
    ContextId peer_context = 0;           // whom the sender means; in a dial perhaps any_context
    std::uint32_t message_bytes_max = 0;  // payload that the sender accepts
    std::uint16_t credits = 0;            // unexpected messages that may come at once
    std::uint8_t lane = 0;
    std::uint8_t auth_method = 0;  // 0: none; no other is known

    CINNABAR_API void encode(std::span<std::byte, hello_bytes> out) const noexcept;
    // protocol: wrong magic, an unknown kind, a zero incarnation, a message limit below the least, a reason in what is
    // no reject, any_context where a context must be named. unsupported: another version, or something that is not
    // known and may not be passed over: a feature, an authentication method, a byte that is to be zero; `out` is
    // filled, for the answer.
    [[nodiscard]] CINNABAR_API static Errc decode(ConstBytes in, Hello& out) noexcept;
};

}  // namespace cinnabar::na
