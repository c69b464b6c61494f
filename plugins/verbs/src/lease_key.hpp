// SPDX-License-Identifier: BSD-3-Clause
// The key of a lease as its owner describes it: the address by which peers find each of its segments and the remote key
// that the device gave for exactly that range. A checksum tells a damaged key before it costs the connection; what may
// be done through it is checked by the owner's device alone. Pure; the bytes come by way of a stranger.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

#include <cstdint>
#include <span>

namespace cinnabar::verbs {

struct KeySegment {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t rkey = 0;
};

[[nodiscard]] constexpr std::size_t key_bytes(std::size_t segments) noexcept { return 8 + segments * 20; }

// {u32 checksum, u32 count}, and for each segment {u64 address, u64 bytes, u32 rkey}. The writer fails when it does not
// fit.
void encode_key(std::span<const KeySegment> segments, Writer& writer) noexcept;

// Where an access of a peer's memory goes.
struct RemotePlace {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
};

// permission: the key is damaged. invalid_argument: the access crosses the border of a segment. too_large: it is beyond
// the lease.
[[nodiscard]] Errc find_place(ConstBytes key, std::uint64_t offset, std::uint64_t bytes, RemotePlace& out) noexcept;

}  // namespace cinnabar::verbs
