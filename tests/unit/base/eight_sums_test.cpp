// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/eight_sums.hpp>
#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar {
namespace {

TEST(EightSums, AreThoseOfEachNumber) {
    Random random(3);
    EightSums sums;
    std::array<std::uint64_t, 8> wanted{};
    for (std::uint64_t times = 0; times < 1'000; ++times) {
        ASSERT_EQ(sums.times(), times);
        for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(sums.sum(i), wanted[i]) << i << " after " << times;
        EightNumbers numbers{};
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const std::uint64_t number = random.below(eight_buckets_end);
            numbers[i / 2] |= number << (i % 2 * 32);
            wanted[i] += number;
        }
        sums.add(numbers);
    }
}

TEST(EightSums, OfTheLargestNumbersDoNotOverflow) {
    EightSums sums;
    constexpr std::uint64_t largest = eight_buckets_end - 1;
    for (std::uint64_t times = 1; times <= 600; ++times) {
        const std::uint64_t two = largest << 32 | largest;
        sums.add({two, two, two, two});
        for (std::size_t i = 0; i < 8; ++i) ASSERT_EQ(sums.sum(i), times * largest) << i;
    }
    EXPECT_EQ(sums.times(), 600u);
}

}  // namespace
}  // namespace cinnabar
