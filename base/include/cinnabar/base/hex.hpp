// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar {

// 16 digits, the highest first, in lower case. Any thread; throws std::bad_alloc.
[[nodiscard]] inline std::string to_hex(std::uint64_t number) {
    constexpr unsigned digits = 16;
    std::string text(digits, '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4)
        *digit = "0123456789abcdef"[number & 15];
    return text;
}

}  // namespace cinnabar
