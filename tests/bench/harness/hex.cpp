// SPDX-License-Identifier: BSD-3-Clause
#include "hex.hpp"

namespace cinnabar::bench {

std::string to_hex(ConstBytes bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const auto byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text += {digits[value >> 4], digits[value & 15]};
    }
    return text;
}

std::vector<std::byte> from_hex(const std::string& text) {
    std::vector<std::byte> bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    }
    return bytes;
}

}  // namespace cinnabar::bench
