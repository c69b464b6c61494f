// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/statistics.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cinnabar::bench {
namespace {

// Uniform in [centre - spread, centre + spread].
std::vector<double> samples_around(double centre, double spread, std::size_t count, std::uint64_t seed) {
    Random random{seed};
    std::vector<double> samples(count);
    for (auto& sample : samples) {
        sample = centre + spread * (static_cast<double>(random.below(2'000'001)) / 1e6 - 1);
    }
    return samples;
}

TEST(Median, OfOddEvenAndOne) {
    EXPECT_EQ(median({3}), 3);
    EXPECT_EQ(median({5, 1, 3}), 3);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Median, IsNotMovedByOutliers) { EXPECT_EQ(median({1, 1, 1, 1000, -1000}), 1); }

TEST(Bootstrap, OfEqualSamplesHasNoWidth) {
    const auto interval = bootstrap_median(std::vector<double>(20, 1.25));
    EXPECT_EQ(interval.median, 1.25);
    EXPECT_EQ(interval.low, 1.25);
    EXPECT_EQ(interval.high, 1.25);
    EXPECT_EQ(interval.relative_width(), 0);
}

TEST(Bootstrap, SameSeedSameInterval) {
    const auto samples = samples_around(1, 0.2, 50, 3);
    const auto first = bootstrap_median(samples, 500, 9);
    const auto second = bootstrap_median(samples, 500, 9);
    EXPECT_EQ(first.low, second.low);
    EXPECT_EQ(first.high, second.high);
    EXPECT_LE(first.low, first.median);
    EXPECT_LE(first.median, first.high);
}

TEST(Bootstrap, NarrowsWithMoreSamples) {
    const auto few = bootstrap_median(samples_around(1, 0.2, 20, 5));
    const auto many = bootstrap_median(samples_around(1, 0.2, 500, 5));
    EXPECT_LT(many.relative_width(), few.relative_width() / 2);
}

// What a 95 % interval promises: in about 380 of 400 experiments it contains the true value.
TEST(Bootstrap, HoldsTheTruthAboutNineteenTimesInTwenty) {
    int held = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const auto interval = bootstrap_median(samples_around(1.1, 0.3, 40, seed), 400, seed);
        if (interval.low <= 1.1 && 1.1 <= interval.high) ++held;
    }
    EXPECT_GE(held, 360);
    EXPECT_LE(held, 398);
}

TEST(Interval, WidthOfMedianZeroIsInfinite) {
    EXPECT_TRUE(std::isinf(Interval{}.relative_width()));
    EXPECT_NEAR((Interval{2, 1.9, 2.1}.relative_width()), 0.1, 1e-12);
}

TEST(Interval, DistanceFromOneIsTheFartherEnd) {
    EXPECT_NEAR((Interval{1, 0.97, 1.01}.distance_from_one()), 0.03, 1e-12);
    EXPECT_NEAR((Interval{1.04, 1.02, 1.06}.distance_from_one()), 0.06, 1e-12);
}

TEST(Judge, AtMost) {
    const Bar bar{Sense::at_most, 1.2};
    EXPECT_EQ(judge({1.1, 1.05, 1.2}, bar), Verdict::held);
    EXPECT_EQ(judge({1.2, 1.15, 1.25}, bar), Verdict::undecided);
    EXPECT_EQ(judge({1.3, 1.21, 1.4}, bar), Verdict::missed);
}

TEST(Judge, AtLeast) {
    const Bar bar{Sense::at_least, 0.95};
    EXPECT_EQ(judge({0.97, 0.95, 0.99}, bar), Verdict::held);
    EXPECT_EQ(judge({0.95, 0.93, 0.97}, bar), Verdict::undecided);
    EXPECT_EQ(judge({0.9, 0.88, 0.94}, bar), Verdict::missed);
}

}  // namespace
}  // namespace cinnabar::bench
