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
// The size of the three lanes that are summed at once, because the crc32 instruction has a latency of three cycles and
// a throughput of one per cycle. Long lanes are whole pages, so that the processor prefetches the lanes; this halves
// the time for memory that is not in a cache.
constexpr std::size_t long_lane_bytes = 8192;
constexpr std::size_t short_lane_bytes = 1024;

// For appending a lane of zeros to a sum: the sum of a followed by b is past(lane, sum of a) ^ sum of b.
using LaneTable = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr std::uint32_t past(const LaneTable& lane, std::uint64_t sum) noexcept {
    return lane[0][sum & 0xff] ^ lane[1][sum >> 8 & 0xff] ^ lane[2][sum >> 16 & 0xff] ^ lane[3][sum >> 24 & 0xff];
}

template <typename Step>
constexpr LaneTable make_lane_table(std::size_t steps, Step step) noexcept {
    LaneTable lane{};
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
        std::uint32_t sum = std::uint32_t{1} << bit;
        for (std::size_t i = 0; i < steps; ++i) sum = step(sum);
        for (std::uint32_t value = 0; value < 256; ++value)
            if ((value >> bit % 8 & 1) != 0) lane[bit / 8][value] ^= sum;
    }
    return lane;
}
constexpr LaneTable short_lane =
    make_lane_table(short_lane_bytes, [](std::uint32_t sum) { return (sum >> 8) ^ table[sum & 0xff]; });
constexpr LaneTable long_lane =
    make_lane_table(long_lane_bytes / short_lane_bytes, [](std::uint32_t sum) { return past(short_lane, sum); });

std::uint64_t word_at(const std::byte* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    return word;
}

// Removes three lanes at a time from the front of `bytes`, and returns `sum` continued over them.
__attribute__((target("sse4.2"))) std::uint64_t by_lanes(ConstBytes& bytes, std::uint64_t sum, std::size_t lane_bytes,
                                                         const LaneTable& lane) noexcept {
    for (; bytes.size() >= 3 * lane_bytes; bytes = bytes.subspan(3 * lane_bytes)) {
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (const std::byte* at = bytes.data(); at != bytes.data() + lane_bytes; at += 8) {
            sum = __builtin_ia32_crc32di(sum, word_at(at));
            second = __builtin_ia32_crc32di(second, word_at(at + lane_bytes));
            third = __builtin_ia32_crc32di(third, word_at(at + 2 * lane_bytes));
        }
        sum = past(lane, past(lane, sum) ^ second) ^ third;
    }
    return sum;
}

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(ConstBytes bytes, std::uint32_t sum) noexcept {
    std::uint64_t wide = by_lanes(bytes, sum, long_lane_bytes, long_lane);
    wide = by_lanes(bytes, wide, short_lane_bytes, short_lane);
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) wide = __builtin_ia32_crc32di(wide, word_at(bytes.data()));
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
