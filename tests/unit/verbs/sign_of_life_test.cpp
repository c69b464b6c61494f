// SPDX-License-Identifier: BSD-3-Clause
#include "sign_of_life.hpp"

#include <gtest/gtest.h>

namespace cinnabar::verbs {
namespace {

constexpr TimeUs patience = 100;

TEST(SignOfLife, NothingExpectedIsNeverOverdue) {
    SignOfLife sign;
    sign.open();
    EXPECT_FALSE(sign.overdue(1'000'000, patience));
    sign.expect(1'000'000);
    sign.told(1'000'001, true);
    EXPECT_FALSE(sign.overdue(2'000'000, patience));
}

TEST(SignOfLife, WhatIsExpectedForTooLongIsOverdueHoweverOftenItIsLookedAt) {
    SignOfLife sign;
    sign.open();
    sign.expect(1000);
    sign.expect(1099);
    EXPECT_FALSE(sign.overdue(1099, patience));
    EXPECT_TRUE(sign.overdue(1100, patience));
}

TEST(SignOfLife, WhoeverDoesSomeOfItHasMoreTime) {
    SignOfLife sign;
    sign.open();
    sign.expect(1000);
    sign.told(1090, false);
    EXPECT_FALSE(sign.overdue(1189, patience));
    EXPECT_TRUE(sign.overdue(1190, patience));
}

TEST(SignOfLife, WhatWasDoneLongAgoIsNoReasonToGiveUpWhatIsNew) {
    SignOfLife sign;
    sign.open();
    sign.expect(1000);
    sign.told(1010, true);
    sign.expect(500'000);
    EXPECT_FALSE(sign.overdue(500'050, patience));
}

}  // namespace
}  // namespace cinnabar::verbs
