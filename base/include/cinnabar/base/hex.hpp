// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar {

// Writes 16 digits, the highest first, in lower case. Any thread.
inline void write_hex(char* to, std::uint64_t number) noexcept {
    for (int shift = 60; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[number >> shift & 15];
}

[[nodiscard]] inline std::string to_hex(std::uint64_t number) {
    std::string text(16, '0');
    write_hex(text.data(), number);
    return text;
}

}  // namespace cinnabar
