// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

#include <gtest/gtest.h>

namespace cinnabar {
namespace {

TEST(AssertDeathTest, SaysWhatIsFalseAndWhere) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    int evaluated = 0;
    CINNABAR_ASSERT(++evaluated == 1);
    EXPECT_EQ(evaluated, 1);
    EXPECT_DEATH(CINNABAR_ASSERT(evaluated == 2), "bug: evaluated == 2 is false at .*assert_test.cpp:");
}

TEST(AssertDeathTest, DebugAssertLooksOnlyWhereAssertsAreOn) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    int evaluated = 0;
    CINNABAR_DEBUG_ASSERT(++evaluated == 1);
#ifdef NDEBUG
    EXPECT_EQ(evaluated, 0);
#else
    EXPECT_EQ(evaluated, 1);
    EXPECT_DEATH(CINNABAR_DEBUG_ASSERT(evaluated == 2), "bug: evaluated == 2");
#endif
}

}  // namespace
}  // namespace cinnabar
