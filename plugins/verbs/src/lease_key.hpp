// SPDX-License-Identifier: BSD-3-Clause
// The key of a lease as peers receive it: for each segment, the address that peers use and a remote key for exactly
// that range. A checksum detects a damaged key, which would otherwise break the connection. The owner's device checks
// each access. Pure. The bytes are untrusted.
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

// Writes {u32 checksum, u32 count}, and for each segment {u64 address, u64 bytes, u32 rkey}. If there is no room, the
// writer fails.
void encode_key(std::span<const KeySegment> segments, ByteWriter& writer) noexcept;

// An address in a peer's memory.
struct RemoteAddress {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
};

// Finds the address of an access. permission: the key is damaged; invalid_argument: the access crosses the border of a
// segment; too_large: it is outside of the lease.
[[nodiscard]] Errc find_address(ConstBytes key, std::uint64_t offset, std::uint64_t bytes, RemoteAddress& out) noexcept;

}  // namespace cinnabar::verbs
