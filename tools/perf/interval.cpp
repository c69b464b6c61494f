// SPDX-License-Identifier: BSD-3-Clause
#include "perf/interval.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace cinnabar::tools::perf {
namespace {

// The 97.5 % quantile of Student's t by degrees of freedom, from 1.
constexpr std::array<double, 30> t_quantiles{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr double normal_quantile = 1.960;

double t_quantile(std::size_t degrees) {
    return degrees <= t_quantiles.size() ? t_quantiles.at(degrees - 1) : normal_quantile;
}

}  // namespace

Interval interval_of(std::span<const double> repeats) {
    Interval result;
    if (repeats.empty()) return result;
    const auto count = static_cast<double>(repeats.size());
    for (const double each : repeats) result.mean += each / count;
    if (repeats.size() < 2) return result;
    double squares = 0;
    for (const double each : repeats) squares += (each - result.mean) * (each - result.mean);
    const double deviation = std::sqrt(squares / (count - 1));
    result.half_width = t_quantile(repeats.size() - 1) * deviation / std::sqrt(count);
    return result;
}

}  // namespace cinnabar::tools::perf
