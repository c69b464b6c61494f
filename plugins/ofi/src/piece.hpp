// SPDX-License-Identifier: BSD-3-Clause
// A piece of leased memory as the owner's fabric knows it, and how it is told to a peer that may read it:
// docs/wire-format-ofi.md, "Reads by the fabric". Pure; what is decoded is hostile input.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

inline constexpr std::size_t key_bytes_max = 256;

struct PieceName {
    std::uint64_t address = 0;    // what its first byte has for the fabric
    std::uint32_t key_bytes = 0;  // 8, or what a provider with long keys has
    std::array<std::byte, key_bytes_max> key{};

    void set_key(std::uint64_t plain) noexcept;
    // False: it is a long one.
    [[nodiscard]] bool plain_key(std::uint64_t& out) const noexcept;
};

// {u64 address, u64 bytes, u32 bytes of the key, u32 0, the key padded to a multiple of 8}
struct Piece {
    std::uint64_t bytes = 0;
    PieceName name;

    // Requires: room in the writer, else that fails.
    void encode(Writer& writer) const noexcept;
    // False: there is none, or it makes no sense.
    [[nodiscard]] static bool decode(Reader& reader, Piece& out) noexcept;
};

}  // namespace cinnabar::ofi
