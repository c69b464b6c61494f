// SPDX-License-Identifier: BSD-3-Clause
// The first 56 bytes on a lane: the Hello, and the token by which a further lane names its session
// (docs/wire-format-tcp.md, "Greeting"). Pure, no I/O. The bytes are untrusted.
#pragma once

#include <cinnabar/na/hello.hpp>

#include <array>
#include <cstring>

namespace cinnabar::tcp {

// 128 random bits, so that it cannot be guessed.
using LaneToken = std::array<std::byte, 16>;
struct LaneTokenHash {
    [[nodiscard]] std::size_t operator()(const LaneToken& token) const noexcept {
        std::size_t first = 0;
        std::memcpy(&first, token.data(), sizeof first);
        return first;
    }
};
[[nodiscard]] LaneToken random_token() noexcept;

struct Greeting {
    static constexpr std::size_t wire_bytes = na::hello_bytes + sizeof(LaneToken);

    na::Hello hello;
    LaneToken token{};  // in an accept: of the new session; in a lane: of the session it joins; otherwise zeros

    [[nodiscard]] std::array<std::byte, wire_bytes> encode() const noexcept;
    // As Hello::decode. unsupported: also if there is a token and the Hello's kind has none.
    [[nodiscard]] static Errc decode(ConstBytes in, Greeting& out) noexcept;
};

}  // namespace cinnabar::tcp
