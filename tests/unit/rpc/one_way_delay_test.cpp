// SPDX-License-Identifier: BSD-3-Clause
#include "one_way_delay.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cinnabar::rpc {
namespace {

constexpr TimeUs far_ahead = 1'000'000'000;  // of the other side's clock

// A request that is `there` on its way, is answered after 7 us, and whose answer is `back` on its way.
std::uint32_t told(OneWayDelay& split, TimeUs sent, TimeUs there, TimeUs back, TimeUs ahead) {
    const TimeUs came = sent + there + ahead;
    return split.there_us(sent, came, came + 7, sent + there + 7 + back);
}

TEST(OneWayDelay, OneMessageIsHalfwayThereAndBack) {
    OneWayDelay split;
    EXPECT_EQ(told(split, 500, 70, 30, far_ahead), 50u) << "nothing tells which way was longer";
}

TEST(OneWayDelay, SlowWaysAreToldApartOnceBothWereFast) {
    for (const TimeUs ahead : {far_ahead, TimeUs{0}, TimeUs{0} - far_ahead}) {
        OneWayDelay split;
        EXPECT_EQ(told(split, 1'000, 50, 50, ahead), 50u);
        EXPECT_EQ(told(split, 2'000, 950, 50, ahead), 950u);
        EXPECT_EQ(told(split, 4'000, 50, 450, ahead), 50u);
    }
}

TEST(OneWayDelay, FastMessagesOfLongAgoCountNoLonger) {
    OneWayDelay split;
    EXPECT_EQ(told(split, 1'000, 50, 50, 0), 50u);
    constexpr TimeUs later = 3 * OneWayDelay::window_us;
    EXPECT_EQ(told(split, later, 50, 50, 400), 50u) << "the clocks have drifted apart by 400 us meanwhile";
    EXPECT_EQ(told(split, later + 1'000, 250, 50, 400), 250u);
}

TEST(OneWayDelay, WhateverAPeerClaimsIsATime) {
    constexpr TimeUs last = std::numeric_limits<TimeUs>::max();
    for (const TimeUs came : {TimeUs{0}, last, last / 2, last / 2 + 1}) {
        for (const TimeUs answered : {TimeUs{0}, last, last / 2, last / 2 + 1}) {
            OneWayDelay split;
            (void)split.there_us(1'000, came, answered, 1'200);
            (void)split.there_us(2'000, answered, came, 2'200);
        }
    }
}

}  // namespace
}  // namespace cinnabar::rpc
