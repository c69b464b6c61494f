// SPDX-License-Identifier: BSD-3-Clause
// Integers of one to ten bytes: seven bits per byte, lowest first, with the top bit set in all but the last byte.
// Signed integers have their sign in the lowest bit, so that small numbers of either sign are short.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cinnabar::bulk {

[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t value) noexcept {
    return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

inline void write_varint(std::uint64_t value, ByteWriter& writer) noexcept {
    for (; value >= 0x80; value >>= 7) writer.u8(static_cast<std::uint8_t>(value | 0x80));
    writer.u8(static_cast<std::uint8_t>(value));
}

// Fails the reader if there are more than 64 bits, or superfluous zeros at the end.
[[nodiscard]] inline std::uint64_t read_varint(ByteReader& reader) noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t byte = reader.u8();
        const std::uint64_t bits = byte & 0x7fu;
        value |= bits << shift;
        if ((byte & 0x80) != 0) continue;
        if ((shift > 0 && byte == 0) || (shift == 63 && bits > 1)) break;
        return value;
    }
    reader.fail();
    return 0;
}

[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

}  // namespace cinnabar::bulk
