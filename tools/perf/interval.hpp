// SPDX-License-Identifier: BSD-3-Clause
// The mean of repeated measurements and its 95 % confidence interval, by Student's t. Pure functions.
#pragma once

#include <optional>
#include <span>

namespace cinnabar::tools::perf {

struct Interval {
    double mean = 0;
    std::optional<double> half_width;  // half-width of the 95 % interval; nullopt: fewer than two repeats
};

[[nodiscard]] Interval interval_of(std::span<const double> repeats);

}  // namespace cinnabar::tools::perf
