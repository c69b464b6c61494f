// SPDX-License-Identifier: BSD-3-Clause
// What is said first on a lane: the Hello, and the token that leads further lanes to their session. 56 bytes,
// docs/wire-format-tcp.md, "Greeting". Pure; the bytes are hostile input.
#pragma once

#include <cinnabar/na/hello.hpp>

#include <array>
#include <cstring>

namespace cinnabar::tcp {

// 128 random bits: who was not told one cannot guess it.
using LaneToken = std::array<std::byte, 16>;
struct LaneTokenHash {
    [[nodiscard]] std::size_t operator()(const LaneToken& token) const noexcept {
        std::size_t first = 0;
        std::memcpy(&first, token.data(), sizeof first);
        return first;
    }
};
[[nodiscard]] LaneToken random_token() noexcept;

inline constexpr std::size_t greeting_bytes = na::hello_bytes + sizeof(LaneToken);

struct Greeting {
    na::Hello hello;
    LaneToken token{};  // accept: of the session that begins; lane: of the session that is meant; else zeros

    [[nodiscard]] std::array<std::byte, greeting_bytes> encode() const noexcept;
    // As Hello::decode; unsupported: a token where there is none to be.
    [[nodiscard]] static Errc decode(ConstBytes in, Greeting& out) noexcept;
};

}  // namespace cinnabar::tcp
