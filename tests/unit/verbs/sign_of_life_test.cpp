// SPDX-License-Identifier: BSD-3-Clause
#include "sign_of_life.hpp"

#include <gtest/gtest.h>

namespace cinnabar::verbs {
namespace {

constexpr TimeUs patience = 100;

TEST(SignOfLife, NothingOwedIsNeverOverdue) {
    SignOfLife sign;
    sign.open();
    EXPECT_FALSE(sign.overdue(1'000'000, patience));
    sign.owed(1'000'000);
    sign.told(1'000'001, true);
    EXPECT_FALSE(sign.overdue(2'000'000, patience));
}

TEST(SignOfLife, WhatIsOwedForTooLongIsOverdueHoweverOftenItIsLookedAt) {
    SignOfLife sign;
    sign.open();
    sign.owed(1000);
    sign.owed(1099);
    EXPECT_FALSE(sign.overdue(1099, patience));
    EXPECT_TRUE(sign.overdue(1100, patience));
}

TEST(SignOfLife, WhoeverDoesSomeOfItHasMoreTime) {
    SignOfLife sign;
    sign.open();
    sign.owed(1000);
    sign.told(1090, false);
    EXPECT_FALSE(sign.overdue(1189, patience));
    EXPECT_TRUE(sign.overdue(1190, patience));
}

TEST(SignOfLife, WhatWasDoneLongAgoIsNoReasonToGiveUpWhatIsNew) {
    SignOfLife sign;
    sign.open();
    sign.owed(1000);
    sign.told(1010, true);
    sign.owed(500'000);
    EXPECT_FALSE(sign.overdue(500'050, patience));
}

}  // namespace
}  // namespace cinnabar::verbs
