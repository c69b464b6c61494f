// SPDX-License-Identifier: BSD-3-Clause
// The key of a lease as peers get it: for each segment, the address that peers use and the remote key of exactly that
// range. A checksum detects a damaged key, which would otherwise break the connection. The access itself is checked by
// the owner's device. Pure. The bytes are untrusted.
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

// {u32 checksum, u32 count}, and for each segment {u64 address, u64 bytes, u32 rkey}. The writer fails if there is no
// room.
void encode_key(std::span<const KeySegment> segments, Writer& writer) noexcept;

// A place in a peer's memory.
struct RemotePlace {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
};

// permission: the key is damaged; invalid_argument: the access crosses the border of a segment; too_large: it is
// outside of the lease.
[[nodiscard]] Errc find_place(ConstBytes key, std::uint64_t offset, std::uint64_t bytes, RemotePlace& out) noexcept;

}  // namespace cinnabar::verbs
