// SPDX-License-Identifier: BSD-3-Clause
#include "commands/descriptors.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::tools {
namespace {

constexpr Descriptors wanted{4096, 256, 16'384};

TEST(Descriptors, APlentyGivesWhatIsWanted) {
    const auto got = divide_descriptors(1u << 20, wanted, 2);
    EXPECT_EQ(got.files, 4096u);
    EXPECT_EQ(got.session_files, 256u);
    EXPECT_EQ(got.connections, 16'384u);
}

TEST(Descriptors, TheyAreNeverMoreThanThereAre) {
    for (std::uint64_t limit = 64; limit < 100'000; limit += 7) {
        const auto got = divide_descriptors(limit, wanted, 4);
        EXPECT_LE(3 * got.files, limit / 4) << limit << ": the rest is for clients";
        EXPECT_LT(got.session_files, got.files) << limit << ": no client has all of them";
        EXPECT_LE(3u * got.files + 2u * got.connections + std::min<std::uint64_t>(40, limit / 4), limit) << limit;
    }
}

TEST(Descriptors, VeryFewStillServe) {
    const auto got = divide_descriptors(10, wanted, 64);
    EXPECT_EQ(got.files, 1u);
    EXPECT_EQ(got.session_files, 1u);
    EXPECT_EQ(got.connections, 8u);
}

}  // namespace
}  // namespace cinnabar::tools
