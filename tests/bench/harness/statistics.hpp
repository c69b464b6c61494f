// SPDX-License-Identifier: BSD-3-Clause
// The statistics of a figure: the median of paired ratios, its bootstrap interval, and the verdict against a bar. Pure
// functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cinnabar::bench {

// A median and its 95 % interval.
struct Interval {
    double median = 0;
    double low = 0;
    double high = 0;

    // Width relative to the median; infinity for a median of 0.
    [[nodiscard]] double relative_width() const noexcept;
    // How far the interval reaches from 1: the noise, if something was compared with itself.
    [[nodiscard]] double distance_from_one() const noexcept;
};

// Requires: at least one sample.
[[nodiscard]] double median(std::vector<double> samples);

// Resamples with replacement; the same samples and seed give the same interval. Requires: at least one sample.
[[nodiscard]] Interval bootstrap_median(std::span<const double> samples, std::size_t resamples = 2000,
                                        std::uint64_t seed = 1);

enum class Sense : std::uint8_t { at_most, at_least };

struct Bar {
    Sense sense;
    double value;
};

// `undecided`: the interval straddles the bar, so more slices or a quieter machine are needed.
enum class Verdict : std::uint8_t { held, missed, undecided };

[[nodiscard]] Verdict judge(const Interval& ratio, Bar bar) noexcept;
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

}  // namespace cinnabar::bench
