// SPDX-License-Identifier: BSD-3-Clause
#include "perf/histogram.hpp"

#include "perf/interval.hpp"
#include "perf/timeline.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

// Random values, with all widths equally likely.
std::vector<std::uint64_t> values_of_every_size(std::size_t count) {
    Random random(7);
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(random.next() >> (20 + random.below(44)));
    return values;
}

TEST(PerfHistogram, QuantilesAreWithinAThousandthOfTheExactOnes) {
    auto values = values_of_every_size(20'000);
    Histogram histogram;
    for (const auto value : values) histogram.record(value);
    std::ranges::sort(values);
    EXPECT_EQ(histogram.count(), values.size());
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
    for (const double fraction : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
        const auto rank = std::max(1.0, std::ceil(fraction * static_cast<double>(values.size())));
        const auto exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
        const auto found = static_cast<double>(histogram.quantile(fraction));
        EXPECT_GE(found, exact) << fraction;
        EXPECT_LE(found, exact * 1.001) << fraction;
    }
}

TEST(PerfHistogram, EveryValueLiesInItsBucketAndBucketsDoNotOverlap) {
    for (unsigned bits = 1; bits < 44; ++bits) {
        for (const std::uint64_t value : {(std::uint64_t{1} << bits) - 1, std::uint64_t{1} << bits}) {
            Histogram one;
            one.record(value);
            one.record(Histogram::value_max);  // so that the upper edge is not reduced to the largest value
            const auto edge = one.buckets().front().upper;
            EXPECT_GE(edge, value);
            Histogram next;
            next.record(edge);
            next.record(edge + 1);
            next.record(Histogram::value_max);
            EXPECT_EQ(next.buckets().front().upper, edge);
            EXPECT_EQ(next.buckets().front().count, 1u);
        }
    }
}

TEST(PerfHistogram, ATimeBeyondTheLastBucketIsKeptAsTheMaximum) {
    Histogram histogram;
    histogram.record(Histogram::value_max * 3);
    EXPECT_EQ(histogram.max(), Histogram::value_max * 3);
    EXPECT_EQ(histogram.count(), 1u);
}

TEST(PerfHistogram, SumsOfHistogramsAreThoseOfTheirValues) {
    const auto values = values_of_every_size(1000);
    Histogram whole;
    Histogram halves[2];
    for (std::size_t i = 0; i < values.size(); ++i) {
        whole.record(values[i]);
        halves[i % 2].record(values[i]);
    }
    halves[0].add(halves[1]);
    EXPECT_EQ(halves[0].count(), whole.count());
    EXPECT_EQ(halves[0].quantile(0.9), whole.quantile(0.9));
    EXPECT_EQ(halves[0].min(), whole.min());
    EXPECT_EQ(halves[0].max(), whole.max());
    EXPECT_NEAR(halves[0].mean(), whole.mean(), whole.mean() * 1e-9);
}

TEST(PerfHistogram, NothingRecordedIsZeroEverywhere) {
    const Histogram empty;
    EXPECT_EQ(empty.quantile(0.5), 0u);
    EXPECT_EQ(empty.min(), 0u);
    EXPECT_EQ(empty.mean(), 0);
    EXPECT_TRUE(empty.buckets().empty());
}

TEST(PerfTimeline, EachLatencyLiesInTheSliceOfItsStart) {
    Timeline timeline(1000, 100 * Timeline::slices);
    for (std::uint64_t at = 1000; at < 1000 + 100 * Timeline::slices; at += 50) timeline.record(at, at);
    std::uint64_t count = 0;
    const auto& slices = timeline.latencies();
    for (std::size_t i = 0; i < slices.size(); ++i) {
        count += slices[i].count();
        if (i > 0 && slices[i].count() > 0) {
            EXPECT_GT(slices[i].min(), slices[i - 1].max());
        }
    }
    EXPECT_EQ(count, 2 * Timeline::slices);
}

// A textbook example: mean 5, deviation 2, so 2.776 * 2 / sqrt(5).
TEST(PerfInterval, IsThatOfStudentsT) {
    const double spread = 2 / std::sqrt(2.5);
    const std::array<double, 5> repeats{5 - 2 * spread, 5 - spread, 5, 5 + spread, 5 + 2 * spread};
    const auto interval = interval_of(repeats);
    EXPECT_DOUBLE_EQ(interval.mean, 5);
    ASSERT_TRUE(interval.half_width.has_value());
    EXPECT_NEAR(*interval.half_width, 2.776 * 2 / std::sqrt(5.0), 1e-9);
}

TEST(PerfInterval, OneRepeatSaysNothingOfItsError) {
    const std::array<double, 1> one{3};
    EXPECT_EQ(interval_of(one).mean, 3);
    EXPECT_FALSE(interval_of(one).half_width.has_value());
    EXPECT_FALSE(interval_of({}).half_width.has_value());
}

TEST(PerfHistogram, IsTheSameAfterItWasEncoded) {
    constexpr unsigned bits = 8;
    Histogram before(bits);
    for (const auto value : values_of_every_size(20'000)) before.record(value);
    before.record(Histogram::value_max + 1);
    const auto bytes = before.encoded();
    const auto after = Histogram::decoded(bytes, bits);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->count(), before.count());
    EXPECT_EQ(after->min(), before.min());
    EXPECT_EQ(after->max(), before.max());
    EXPECT_EQ(after->mean(), before.mean());
    for (const double fraction : {0.0, 0.25, 0.5, 0.99, 1.0})
        EXPECT_EQ(after->quantile(fraction), before.quantile(fraction)) << fraction;
    EXPECT_EQ(after->encoded(), bytes);
    EXPECT_EQ(Histogram::decoded(Histogram(bits).encoded(), bits)->count(), 0u);
}

TEST(PerfHistogram, MalformedBytesGiveNone) {
    constexpr unsigned bits = 8;
    Histogram histogram(bits);
    for (const auto value : {100u, 100u, 5'000u, 1'000'000u}) histogram.record(value);
    const auto bytes = histogram.encoded();
    ASSERT_TRUE(Histogram::decoded(bytes, bits));
    EXPECT_FALSE(Histogram::decoded(bytes, bits + 1)) << "other bits";
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_FALSE(Histogram::decoded(bytes.substr(0, length), bits)) << length;
    EXPECT_FALSE(Histogram::decoded(bytes + '\0' + '\1', bits)) << "the last bucket once more";
    EXPECT_FALSE(Histogram::decoded(bytes + '\1' + '\0', bits)) << "an empty bucket";
    EXPECT_FALSE(Histogram::decoded(bytes + '\1' + '\1', bits)) << "a bucket beyond the maximum";
    EXPECT_FALSE(Histogram::decoded(bytes + "\xff\xff\x7f\1", bits)) << "a bucket beyond the last";
    EXPECT_FALSE(Histogram::decoded(bytes + std::string(10, '\xff') + '\1', bits)) << "a number over 64 bits";
    // Whatever the bytes are, they give none or a histogram that says the same again.
    Random random(11);
    for (int i = 0; i < 20'000; ++i) {
        auto changed = bytes;
        for (auto left = random.below(3) + 1; left > 0; --left)
            changed[random.below(changed.size())] = static_cast<char>(random.below(256));
        if (const auto found = Histogram::decoded(changed, bits)) {
            EXPECT_LE(found->quantile(0.5), found->max());
            EXPECT_EQ(Histogram::decoded(found->encoded(), bits)->count(), found->count());
        }
    }
}

}  // namespace
}  // namespace cinnabar::tools::perf
