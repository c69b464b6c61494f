// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace cinnabar {

// Writes 16 digits, the highest first, in lower case. Any thread.
inline void write_hex(char* to, std::uint64_t number) noexcept {
    static constexpr auto pairs = [] {
        std::array<char, 512> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = "0123456789abcdef"[(i % 2 == 0 ? i >> 5 : i >> 1) & 15];
        return all;
    }();
    for (int shift = 56; shift >= 0; shift -= 8, to += 2) std::memcpy(to, &pairs[(number >> shift & 255) * 2], 2);
}

[[nodiscard]] inline std::string to_hex(std::uint64_t number) {
    std::string text(16, '0');
    write_hex(text.data(), number);
    return text;
}

}  // namespace cinnabar
