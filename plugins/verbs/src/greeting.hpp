// SPDX-License-Identifier: BSD-3-Clause
// What travels in the private data of rdma_cm: the Hello, and how many messages its receiver may send at once. 56 bytes
// are what a connection request holds on InfiniBand. Pure; the bytes are hostile input.
#pragma once

#include <cinnabar/na/hello.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::verbs {

inline constexpr std::size_t greeting_bytes = 56;

struct Greeting {
    na::Hello hello;
    std::uint16_t window = 0;  // messages that may be under way to the sender of this; see credits.hpp
    // A word of the sender's that anybody may read, to see that what went before it is placed, and its key.
    std::uint64_t beacon = 0;
    std::uint32_t beacon_key = 0;

    [[nodiscard]] std::array<std::byte, greeting_bytes> encode() const noexcept;
    // As Hello::decode; protocol: also no window; unsupported: also a byte that is to be zero. What follows the 56
    // bytes is padding.
    [[nodiscard]] static Errc decode(ConstBytes in, Greeting& out) noexcept;
};

}  // namespace cinnabar::verbs
