// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/crc32c.hpp>

#include <array>
#include <cstring>

namespace cinnabar {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected

constexpr std::array<std::uint32_t, 256> make_table() noexcept {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t sum = i;
        for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
        table[i] = sum;
    }
    return table;
}
constexpr auto table = make_table();

std::uint32_t by_table(ConstBytes bytes, std::uint32_t sum) noexcept {
    for (const std::byte b : bytes) sum = (sum >> 8) ^ table[(sum ^ std::to_integer<std::uint32_t>(b)) & 0xff];
    return sum;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(ConstBytes bytes, std::uint32_t sum) noexcept {
    std::uint64_t wide = sum;
    while (bytes.size() >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), 8);
        wide = __builtin_ia32_crc32di(wide, word);
        bytes = bytes.subspan(8);
    }
    return by_table(bytes, static_cast<std::uint32_t>(wide));
}
bool has_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#else
std::uint32_t by_instruction(ConstBytes bytes, std::uint32_t sum) noexcept { return by_table(bytes, sum); }
bool has_instruction() noexcept { return false; }
#endif

}  // namespace

std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before) noexcept {
    static const bool fast = has_instruction();
    return ~(fast ? by_instruction(bytes, ~before) : by_table(bytes, ~before));
}

}  // namespace cinnabar
