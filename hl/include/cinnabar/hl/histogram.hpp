// SPDX-License-Identifier: BSD-3-Clause
// A histogram of times. Each value below 8 microseconds has a bucket of its own; from 8 on there are four buckets for
// each power of two, so that the width of a bucket is at most a quarter of the values in it (base/log_linear.hpp).
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/log_linear.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::hl {

struct Histogram {
    static constexpr unsigned bits = 3;
    static constexpr std::size_t buckets = log_linear_buckets(bits);
    std::array<std::uint64_t, buckets> counts{};

    [[nodiscard]] static constexpr std::size_t bucket_of(TimeUs took_us) noexcept {
        return log_linear_bucket(took_us, bits);
    }
    // Returns where a bucket begins, in microseconds: bucket i counts times from lower_edge_us(i) to below
    // lower_edge_us(i + 1). For an index past the last bucket, returns the largest TimeUs, where the last bucket ends.
    [[nodiscard]] static constexpr TimeUs lower_edge_us(std::size_t bucket) noexcept {
        return bucket < buckets ? log_linear_from(bucket, bits) : ~TimeUs{0};
    }
    [[nodiscard]] CINNABAR_API std::uint64_t total() const noexcept;
    // Returns the upper edge, in microseconds, of the bucket that holds the quantile `fraction` (0 to 1); 0 if nothing
    // was counted.
    [[nodiscard]] CINNABAR_API std::uint64_t quantile_us(double fraction) const noexcept;
};

}  // namespace cinnabar::hl
