// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar {

// Appends 16 digits, the highest first, in lower case. Any thread; throws std::bad_alloc.
inline void append_hex(std::string& text, std::uint64_t number) {
    constexpr int digits = 16;
    text.append(digits, '0');
    for (auto digit = text.rbegin(); digit != text.rbegin() + digits; ++digit, number >>= 4)
        *digit = "0123456789abcdef"[number & 15];
}

[[nodiscard]] inline std::string to_hex(std::uint64_t number) {
    std::string text;
    append_hex(text, number);
    return text;
}

}  // namespace cinnabar
