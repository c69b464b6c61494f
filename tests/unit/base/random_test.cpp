// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace cinnabar {
namespace {

// The published first outputs of splitmix64 for seed 1234567: a seed must give the same run on every machine.
TEST(Random, IsSplitmix64) {
    Random random(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317u);
    EXPECT_EQ(random.next(), 3203168211198807973u);
    EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
    Random random(1);
    EXPECT_EQ(random.below(0), 0u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
    std::array<int, 6> rolls{};
    for (int i = 0; i < 60'000; ++i) ++rolls.at(random.below(rolls.size()));
    // The standard deviation of each count is 91, so ten of them leave no doubt, and the seed is fixed.
    for (const int count : rolls) EXPECT_NEAR(count, 10'000, 910);
    std::set<std::uint64_t> large;
    for (int i = 0; i < 100; ++i) large.insert(random.below(~std::uint64_t{0}));
    EXPECT_EQ(large.size(), 100u);
}

TEST(Random, ChanceOnceInSoMany) {
    Random random(2);
    int hits = 0;
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_FALSE(random.chance(0));
        EXPECT_TRUE(random.chance(1));
        hits += random.chance(10);
    }
    EXPECT_NEAR(hits, 1000, 300);
}

TEST(Random, SecretsDiffer) {
    std::set<std::uint64_t> secrets;
    for (int i = 0; i < 1000; ++i) secrets.insert(secret_u64());
    EXPECT_EQ(secrets.size(), 1000u);
    EXPECT_FALSE(secrets.contains(0));
}

}  // namespace
}  // namespace cinnabar
