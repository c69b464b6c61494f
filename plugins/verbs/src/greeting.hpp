// SPDX-License-Identifier: BSD-3-Clause
// The private data of a connection request or its answer: the Hello, the window of credits, and the beacon. A request
// holds at most 56 bytes on InfiniBand. Pure. The bytes are untrusted.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/na/hello.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::verbs {

inline constexpr std::size_t greeting_bytes = 56;

struct Greeting {
    na::Hello hello;
    // Messages that the receiver of the greeting may send before a credit is returned; see credits.hpp.
    std::uint16_t window = 0;
    // The beacon: a word in the sender's memory that the peer may read, and the remote key for that word. The answer to
    // such a read shows that earlier writes are placed, and that the device is alive.
    std::uint64_t beacon = 0;
    std::uint32_t beacon_key = 0;

    [[nodiscard]] RemoteAddress beacon_address() const noexcept { return {beacon, beacon_key}; }
    [[nodiscard]] std::array<std::byte, greeting_bytes> encode() const noexcept;
    // As Hello::decode. protocol: also a window that is too small; unsupported: also a reserved byte that is not zero.
    // Bytes after the 56 are padding.
    [[nodiscard]] static Errc decode(ConstBytes in, Greeting& out) noexcept;
};

}  // namespace cinnabar::verbs
