// SPDX-License-Identifier: BSD-3-Clause
#include "perf/histogram.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cmath>

namespace cinnabar::tools::perf {

Histogram::Histogram(unsigned bits) : bits_(bits), counts_(index_of(value_max) + 1) {}

void Histogram::add(const Histogram& other) {
    CINNABAR_ASSERT(other.bits_ == bits_);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::quantile(double fraction) const noexcept {
    if (count_ == 0) return 0;
    const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
    const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        below += counts_[i];
        if (below >= rank) return std::clamp(upper_edge(i), min_, max_);
    }
    return max_;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
    std::vector<Bucket> held;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] > 0) held.push_back({std::clamp(upper_edge(i), min_, max_), counts_[i]});
    }
    return held;
}

}  // namespace cinnabar::tools::perf
