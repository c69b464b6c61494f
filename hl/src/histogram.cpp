// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/histogram.hpp>

#include <numeric>

namespace cinnabar::hl {

std::uint64_t Histogram::total() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t Histogram::quantile_us(double fraction) const noexcept {
    const std::size_t bucket = log_linear_quantile(counts, fraction);
    return bucket == buckets ? 0 : lower_edge_us(bucket + 1);
}

}  // namespace cinnabar::hl
