// SPDX-License-Identifier: BSD-3-Clause
#include "credits.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace cinnabar::verbs {
namespace {

TEST(Credits, RunOutAndComeBack) {
    SendCredits credits;
    credits.open(4);
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(credits.any());
        credits.take();
    }
    EXPECT_FALSE(credits.any());
    EXPECT_TRUE(credits.give_back(3));
    EXPECT_TRUE(credits.any());
    EXPECT_FALSE(credits.give_back(2)) << "more than were taken";
    EXPECT_TRUE(credits.give_back(1));
    EXPECT_FALSE(credits.give_back(1));
}

TEST(Credits, AMessageWithoutOneIsNoticed) {
    ReceiveCredits credits;
    credits.open(4);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(credits.came());
    EXPECT_FALSE(credits.came());
    credits.posted_again();
    EXPECT_FALSE(credits.came()) << "its slot is there, but the other side cannot know";
    EXPECT_EQ(credits.give_back(), 1);
    EXPECT_TRUE(credits.came());
}

TEST(Credits, AreToldOfWhenHalfOfTheWindowCanBeReturned) {
    ReceiveCredits credits;
    credits.open(8);
    EXPECT_FALSE(credits.must_tell());
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(credits.must_tell());
        EXPECT_TRUE(credits.came());
        credits.posted_again();
    }
    EXPECT_TRUE(credits.must_tell());
    EXPECT_EQ(credits.give_back(), 4);
    EXPECT_FALSE(credits.must_tell());
    EXPECT_EQ(credits.give_back(), 0);
}

// One side sends, the other returns credits; each reads at random times. There are never more unread messages than
// slots.
TEST(Credits, NeverNeedMoreSlotsThanWerePromised) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Random random(seed);
        const auto window = static_cast<std::uint32_t>(window_min + random.below(window_max - window_min + 1));
        SendCredits sends;
        ReceiveCredits receives;
        sends.open(window);
        receives.open(window);
        std::uint32_t unread_messages = 0;
        std::deque<std::uint16_t> unread_credits;
        std::uint32_t passed = 0;
        for (int step = 0; step < 2000; ++step) {
            switch (random.below(3)) {
                case 0:
                    if (sends.any()) sends.take(), ++unread_messages;
                    break;
                case 1:
                    if (unread_messages == 0) break;
                    --unread_messages;
                    ++passed;
                    ASSERT_TRUE(receives.came());
                    receives.posted_again();
                    if (receives.must_tell()) unread_credits.push_back(receives.give_back());
                    break;
                default:
                    if (unread_credits.empty() || random.chance(2)) break;
                    ASSERT_TRUE(sends.give_back(unread_credits.front()));
                    unread_credits.pop_front();
            }
            ASSERT_LE(unread_messages, window) << "seed " << seed;
            ASSERT_LE(unread_credits.size(), control_slots) << "seed " << seed;
        }
        EXPECT_GT(passed, window) << "it got stuck, seed " << seed;
    }
}

}  // namespace
}  // namespace cinnabar::verbs
