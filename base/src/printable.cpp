// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/utf8.hpp>

#include <cstdint>

namespace cinnabar {

std::string printable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const auto length = utf8_sequence_bytes(text);
        const auto first = static_cast<std::uint8_t>(text[0]);
        const bool control = first < 0x20 || first == 0x7f ||
                             (length == 2 && first == 0xc2 && static_cast<std::uint8_t>(text[1]) < 0xa0);
        if (length == 0 || control) {
            for (std::size_t i = 0; i < (length == 0 ? 1 : length); ++i) {
                const auto byte = static_cast<std::uint8_t>(text[i]);
                shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
            }
        } else {
            if (first == '\\') shown.append("\\");
            shown.append(text.substr(0, length));
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return shown;
}

}  // namespace cinnabar
