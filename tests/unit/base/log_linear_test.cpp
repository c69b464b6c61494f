// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/eight_buckets.hpp>
#include <cinnabar/base/log_linear.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace cinnabar {
namespace {

class LogLinear : public testing::TestWithParam<unsigned> {};

TEST_P(LogLinear, BucketsFollowEachOtherWithoutAGap) {
    const unsigned bits = GetParam();
    std::uint64_t next = 0;
    for (std::size_t bucket = 0; bucket < log_linear_buckets(bits); ++bucket) {
        ASSERT_EQ(log_linear_from(bucket, bits), next) << bucket;
        next = log_linear_to(bucket, bits) + 1;
    }
    EXPECT_EQ(next, 0u) << "the last bucket ends with the last value";
}

TEST_P(LogLinear, TheEdgesOfABucketAreInIt) {
    const unsigned bits = GetParam();
    for (std::size_t bucket = 0; bucket < log_linear_buckets(bits); ++bucket) {
        ASSERT_EQ(log_linear_bucket(log_linear_from(bucket, bits), bits), bucket);
        ASSERT_EQ(log_linear_bucket(log_linear_to(bucket, bits), bits), bucket);
    }
}

TEST_P(LogLinear, ShortValuesHaveTheSameBuckets) {
    const unsigned bits = GetParam();
    const auto same = [bits](std::uint64_t value) {
        return log_linear_bucket_of_short(value, bits) == log_linear_bucket(value, bits);
    };
    for (std::uint64_t value = 0; value < 5'000; ++value) ASSERT_TRUE(same(value)) << value;
    for (std::size_t bucket = 0; bucket < log_linear_buckets(bits); ++bucket) {
        const std::uint64_t from = log_linear_from(bucket, bits);
        if (from >= log_linear_short_end) break;
        ASSERT_TRUE(same(from)) << from;
        const std::uint64_t to = std::min(log_linear_to(bucket, bits), log_linear_short_end - 1);
        ASSERT_TRUE(same(to)) << to << " is not rounded into the next bucket";
    }
    EXPECT_TRUE(same(log_linear_short_end - 1));
}

TEST_P(LogLinear, BucketsAreNarrow) {
    const unsigned bits = GetParam();
    const std::size_t exact = std::size_t{1} << bits;
    for (std::size_t bucket = 0; bucket < log_linear_buckets(bits); ++bucket) {
        const std::uint64_t from = log_linear_from(bucket, bits);
        const std::uint64_t beyond_first = log_linear_to(bucket, bits) - from;
        if (bucket < exact) {
            ASSERT_EQ(beyond_first, 0u) << bucket;
        } else {
            ASSERT_LT(beyond_first, from >> (bits - 1)) << bucket;
        }
    }
}

TEST(LogLinearQuantile, IsTheFirstBucketThatHasEnough) {
    const std::array<std::uint32_t, 4> counts{0, 3, 0, 1};
    EXPECT_EQ(log_linear_quantile(counts, 0), 1u);
    EXPECT_EQ(log_linear_quantile(counts, 0.75), 1u);
    EXPECT_EQ(log_linear_quantile(counts, 0.76), 3u);
    EXPECT_EQ(log_linear_quantile(counts, 1), 3u);
    EXPECT_EQ(log_linear_quantile(std::array<std::uint32_t, 4>{}, 0.5), 4u) << "nothing was counted";
}

TEST(LogLinearQuantile, OfAFractionOutsideItsRangeIsTheFirstOrTheLast) {
    const std::array<std::uint32_t, 4> counts{0, 3, 0, 1};
    EXPECT_EQ(log_linear_quantile(counts, -1), 1u);
    EXPECT_EQ(log_linear_quantile(counts, 2), 3u);
    EXPECT_EQ(log_linear_quantile(counts, std::numeric_limits<double>::quiet_NaN()), 1u);
}

TEST(LogLinearQuantile, OfMoreCountsThanADoubleHoldsIsInABucket) {
    const std::array<std::uint64_t, 2> counts{1, (std::uint64_t{1} << 63) - 1};
    EXPECT_EQ(log_linear_quantile(counts, 0), 0u);
    EXPECT_EQ(log_linear_quantile(counts, 1), 1u);
    const std::array<std::uint64_t, 2> uneven{std::uint64_t{1} << 54, (std::uint64_t{1} << 54) - 1};
    EXPECT_EQ(log_linear_quantile(uneven, 1), 1u) << "the double of their sum is larger than the sum";
}

// Each number in each of the eight places.
template <unsigned bits>
void expect_eight_alike() {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; number < 5'000; ++number) numbers.push_back(number);
    for (std::size_t bucket = 0; log_linear_to(bucket, bits) < eight_buckets_end; ++bucket) {
        numbers.push_back(static_cast<std::uint32_t>(log_linear_from(bucket, bits)));
        numbers.push_back(static_cast<std::uint32_t>(log_linear_to(bucket, bits)));
    }
    ASSERT_EQ(numbers.back(), eight_buckets_end - 1);
    for (std::size_t first = 0; first < numbers.size(); ++first) {
        const auto number = [&](std::size_t place) { return numbers[(first + place * 611) % numbers.size()]; };
        EightNumbers eight{};
        for (std::size_t place = 0; place < 8; ++place)
            eight[place / 2] |= std::uint64_t{number(place)} << (place % 2 * 32);
        std::size_t seen = 0;
        see_eight_buckets<bits, 8>(eight, [&](auto place, std::size_t bucket) {
            EXPECT_EQ(std::size_t{place}, seen++);
            ASSERT_EQ(bucket, log_linear_bucket(number(place), bits)) << number(place) << " at " << place;
        });
        ASSERT_EQ(seen, 8u);
    }
}

TEST(EightBuckets, AreThoseOfEachNumber) {
    expect_eight_alike<1>();
    expect_eight_alike<2>();
    expect_eight_alike<3>();
    expect_eight_alike<8>();
}

INSTANTIATE_TEST_SUITE_P(Bits, LogLinear, testing::Values(1u, 2u, 3u, 5u, 11u));

}  // namespace
}  // namespace cinnabar
