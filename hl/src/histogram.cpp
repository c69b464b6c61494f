// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/histogram.hpp>

#include <cmath>
#include <numeric>

namespace cinnabar::hl {

std::uint64_t Histogram::total() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t Histogram::quantile_us(double fraction) const noexcept {
    const std::uint64_t all = total();
    if (all == 0) return 0;
    const double wanted = fraction * static_cast<double>(all);
    const auto rank = std::max<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(wanted)), 1);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        below += counts[i];
        if (below >= rank) return lower_edge_us(i + 1);
    }
    return lower_edge_us(buckets);
}

}  // namespace cinnabar::hl
