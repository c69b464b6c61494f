// SPDX-License-Identifier: BSD-3-Clause
#include "replay_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace cinnabar::tls {
namespace {

TEST(ReplayWindow, TakesEachNumberOnce) {
    ReplayWindow window;
    for (std::uint64_t n = 0; n < 3 * ReplayWindow::width; ++n) {
        EXPECT_TRUE(window.take(n)) << n;
        EXPECT_FALSE(window.take(n)) << n;
    }
}

TEST(ReplayWindow, TakesWhatIsLateWithinItsWidth) {
    ReplayWindow window;
    EXPECT_TRUE(window.take(2 * ReplayWindow::width));
    EXPECT_FALSE(window.take(ReplayWindow::width));
    EXPECT_TRUE(window.take(ReplayWindow::width + 1));
    EXPECT_FALSE(window.take(ReplayWindow::width + 1));
}

TEST(ReplayWindow, ForgetsNothingWhenItJumps) {
    ReplayWindow window;
    EXPECT_TRUE(window.take(5));
    EXPECT_TRUE(window.take(std::uint64_t{1} << 40));
    EXPECT_FALSE(window.take(5));
    EXPECT_FALSE(window.take(std::uint64_t{1} << 40));
    EXPECT_TRUE(window.take((std::uint64_t{1} << 40) - 1));
}

TEST(ReplayWindow, AgreesWithASetOfNumbers) {
    std::mt19937_64 random(1);
    ReplayWindow window;
    std::set<std::uint64_t> taken;
    std::uint64_t highest = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t ahead = random() % 8 == 0 ? random() % 3'000 : random() % 20;
        const std::uint64_t n = highest + ahead - std::min(highest, random() % 1'200);
        const bool expected = n + ReplayWindow::width > highest && !taken.contains(n);
        ASSERT_EQ(window.take(n), expected) << n << " after " << highest;
        taken.insert(n);
        highest = std::max(highest, n);
    }
}

}  // namespace
}  // namespace cinnabar::tls
