// SPDX-License-Identifier: BSD-3-Clause
// Log-linear buckets for histograms. Each value below 2^bits has a bucket of its own. From 2^bits on, the range from
// each power of two to the next is divided into 2^(bits - 1) buckets of equal width, so the width of a bucket is at
// most its smallest value / 2^(bits - 1).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cinnabar {

[[nodiscard]] constexpr std::size_t log_linear_bucket(std::uint64_t value, unsigned bits) noexcept {
    // The bit width of `value`, but at least `bits`; without a branch.
    const auto width = static_cast<unsigned>(std::bit_width(value | std::uint64_t{1} << (bits - 1)));
    const unsigned shift = width - bits;
    return (std::size_t{shift} << (bits - 1)) + static_cast<std::size_t>(value >> shift);
}

// Returns the same as log_linear_bucket(), in fewer instructions: the exponent of a floating-point number and the upper
// bits of its fraction, read as one number, are the bucket plus a constant. Requires: value < log_linear_short_end, so
// that the conversion to floating point is exact.
inline constexpr std::uint64_t log_linear_short_end = std::uint64_t{1} << 53;
[[nodiscard]] constexpr std::size_t log_linear_bucket_of_short(std::uint64_t value, unsigned bits) noexcept {
    if (value < std::uint64_t{1} << (bits - 1)) return static_cast<std::size_t>(value);
    constexpr unsigned bias = 1023;
    const auto number = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(value)));
    const auto upper = static_cast<std::size_t>(number >> (53 - bits));
    return upper - (std::size_t{bias + bits - 2} << (bits - 1));
}

// The number of buckets for all 64-bit values.
[[nodiscard]] constexpr std::size_t log_linear_buckets(unsigned bits) noexcept {
    return log_linear_bucket(~std::uint64_t{0}, bits) + 1;
}

// The smallest value of a bucket. Requires: the bucket exists.
[[nodiscard]] constexpr std::uint64_t log_linear_from(std::size_t bucket, unsigned bits) noexcept {
    const std::size_t half = std::size_t{1} << (bits - 1);
    if (bucket < 2 * half) return bucket;
    const std::size_t shift = bucket / half - 1;
    return std::uint64_t{bucket - shift * half} << shift;
}

// The largest value of a bucket. Requires: the bucket exists.
[[nodiscard]] constexpr std::uint64_t log_linear_to(std::size_t bucket, unsigned bits) noexcept {
    return bucket + 1 == log_linear_buckets(bits) ? ~std::uint64_t{0} : log_linear_from(bucket + 1, bits) - 1;
}

// Returns the bucket that holds the quantile `fraction` (0 to 1) of the counted values; counts.size() if no value was
// counted. `counts`: one counter for each bucket.
template <typename Counts>
[[nodiscard]] std::size_t log_linear_quantile(const Counts& counts, double fraction) noexcept {
    std::uint64_t all = 0;
    for (const auto count : counts) all += count;
    const double within = fraction > 0.0 ? (fraction < 1.0 ? fraction : 1.0) : 0.0;
    const double wanted = within * static_cast<double>(all);
    auto rank = static_cast<std::uint64_t>(wanted);
    if (static_cast<double>(rank) < wanted) ++rank;
    if (rank > all) rank = all;  // many counts are not exact as a double
    if (rank == 0) rank = 1;
    std::uint64_t below = 0;
    std::size_t bucket = 0;
    for (; bucket < counts.size(); ++bucket) {
        below += counts[bucket];
        if (below >= rank) break;
    }
    return bucket;
}

}  // namespace cinnabar
