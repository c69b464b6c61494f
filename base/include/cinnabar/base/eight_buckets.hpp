// SPDX-License-Identifier: BSD-3-Clause
// Finds the log-linear buckets (log_linear.hpp) of up to eight numbers at once, with vector instructions that every
// x86-64 processor has. On other processors the buckets are found one after the other.
#pragma once

#include <cinnabar/base/log_linear.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cinnabar {

// Eight numbers of 32 bits, two in each word: the first one in the lower half.
using EightNumbers = std::array<std::uint64_t, 4>;

// Numbers below eight_buckets_end are exact as a `float`. The exponent and the upper bits of the float, read as one
// number, are the bucket plus a constant.
inline constexpr std::uint64_t eight_buckets_end = std::uint64_t{1} << 24;

// Calls `see` with the index and the bucket of each of the first `count` numbers; the index is a
// std::integral_constant. Requires: all eight numbers are below eight_buckets_end.
template <unsigned bits, std::size_t count, typename See>
[[gnu::always_inline]] inline void see_eight_buckets(const EightNumbers& numbers, See&& see) noexcept {
    static_assert(bits >= 1 && bits <= 8 && count <= 8);
#if defined(__SSE2__)
    const auto two_words = [](std::uint64_t first, std::uint64_t second) __attribute__((always_inline)) {
        return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
    };
    const auto upper_bits = [](__m128i four) __attribute__((always_inline)) {
        return _mm_srli_epi32(_mm_castps_si128(_mm_cvtepi32_ps(four)), 24 - bits);
    };
    constexpr int half = 1 << (bits - 1);
    constexpr int bias = ((127 + static_cast<int>(bits) - 1) << (bits - 1)) - half;
    const __m128i lower = two_words(numbers[0], numbers[1]);
    const __m128i upper = two_words(numbers[2], numbers[3]);
    const __m128i far =
        _mm_subs_epu16(_mm_packs_epi32(upper_bits(lower), upper_bits(upper)), _mm_set1_epi16(static_cast<short>(bias)));
    // Numbers below `half` are their own bucket, which is no less than what their bits say.
    const __m128i near = _mm_min_epi16(_mm_packs_epi32(lower, upper), _mm_set1_epi16(static_cast<short>(half - 1)));
    const __m128i buckets = _mm_max_epi16(far, near);
    const auto bucket_of = [&](auto index) __attribute__((always_inline)) {
        return static_cast<std::size_t>(_mm_extract_epi16(buckets, static_cast<int>(index.value)));
    };
#else
    const auto bucket_of = [&](auto index) {
        const auto number = static_cast<std::uint32_t>(numbers[index.value / 2] >> (index.value % 2 * 32));
        return log_linear_bucket_of_short(number, bits);
    };
#endif
    // Not a loop, so that each index is a constant.
    [&]<std::size_t... index>(std::index_sequence<index...>) __attribute__((always_inline)) {
        (see(std::integral_constant<std::size_t, index>(), bucket_of(std::integral_constant<std::size_t, index>())),
         ...);
    }
    (std::make_index_sequence<count>());
}

}  // namespace cinnabar
