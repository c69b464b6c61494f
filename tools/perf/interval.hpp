// SPDX-License-Identifier: BSD-3-Clause
// What repeats say together: their mean and the 95 % confidence interval of it, by Student's t. Pure.
#pragma once

#include <optional>
#include <span>

namespace cinnabar::tools::perf {

struct Interval {
    double mean = 0;
    std::optional<double> half_width;  // of the 95 % interval; nothing: fewer than two repeats say nothing of it
};

[[nodiscard]] Interval interval_of(std::span<const double> repeats);

}  // namespace cinnabar::tools::perf
