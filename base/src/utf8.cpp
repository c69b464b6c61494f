// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/utf8.hpp>

#include <array>
#include <cstdint>

namespace cinnabar {

std::size_t utf8_sequence_bytes(std::string_view text) noexcept {
    if (text.empty()) return 0;
    const auto lead = static_cast<std::uint8_t>(text[0]);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    std::uint32_t value = lead & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<std::uint8_t>(text[i]);
        if ((next & 0xc0) != 0x80) return 0;
        value = value << 6 | (next & 0x3fu);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return 0;
    return length;
}

}  // namespace cinnabar
