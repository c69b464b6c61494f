// SPDX-License-Identifier: BSD-3-Clause
// In a program with `using namespace cinnabar`, common names remain usable for the program's own types.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

using namespace cinnabar;

struct Clock {
    int ticks = 0;
};

namespace {

TEST(Names, AClockOfTheUserIsNoOtherClock) {
    const Clock clock{3};
    EXPECT_EQ(clock.ticks, 3);
    TimeSource& source = steady_clock();
    EXPECT_GT(source.now_us(), 0u);
}

}  // namespace
