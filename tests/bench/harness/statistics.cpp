// SPDX-License-Identifier: BSD-3-Clause
#include "statistics.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cinnabar::bench {

double Interval::relative_width() const noexcept {
    return median == 0 ? std::numeric_limits<double>::infinity() : (high - low) / std::abs(median);
}

double Interval::distance_from_one() const noexcept { return std::max(std::abs(low - 1), std::abs(high - 1)); }

double median(std::vector<double> samples) {
    CINNABAR_ASSERT(!samples.empty());
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    if (samples.size() % 2 == 1) return *middle;
    return (*std::max_element(samples.begin(), middle) + *middle) / 2;
}

Interval bootstrap_median(std::span<const double> samples, std::size_t resamples, std::uint64_t seed) {
    CINNABAR_ASSERT(!samples.empty() && resamples > 0);
    Random random{seed};
    std::vector<double> medians(resamples);
    std::vector<double> drawn(samples.size());
    for (auto& each : medians) {
        for (auto& sample : drawn) sample = samples[random.below(samples.size())];
        each = median(drawn);
    }
    std::sort(medians.begin(), medians.end());
    const auto at = [&](double quantile) {
        return medians[static_cast<std::size_t>(quantile * static_cast<double>(resamples - 1))];
    };
    return {median({samples.begin(), samples.end()}), at(0.025), at(0.975)};
}

Verdict judge(const Interval& ratio, Bar bar) noexcept {
    if (bar.sense == Sense::at_most) {
        if (ratio.high <= bar.value) return Verdict::held;
        return ratio.low > bar.value ? Verdict::missed : Verdict::undecided;
    }
    if (ratio.low >= bar.value) return Verdict::held;
    return ratio.high < bar.value ? Verdict::missed : Verdict::undecided;
}

std::string_view to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::held:
            return "held";
        case Verdict::missed:
            return "MISSED";
        case Verdict::undecided:
            return "undecided";
    }
    return "?";
}

}  // namespace cinnabar::bench
