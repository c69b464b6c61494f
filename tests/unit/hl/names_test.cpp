// SPDX-License-Identifier: BSD-3-Clause
// In a program with `using namespace cinnabar`, common names remain usable for the program's own types.
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

using namespace cinnabar;

struct Blast {};
struct Clock {
    int ticks = 0;
};
struct Reader {};
struct Threads {};
struct Timer {};
struct Work {
    Timer timer;
};
struct Writer {
    Reader reader;
};

namespace {

TEST(Names, AClockOfTheUserIsNoOtherClock) {
    const Clock clock{3};
    EXPECT_EQ(clock.ticks, 3);
    TimeSource& source = steady_clock();
    EXPECT_GT(source.now_us(), 0u);
}

// That they are not ambiguous is shown by the compiler.
TEST(Names, OtherCommonNamesAreTheUsersToo) {
    EXPECT_EQ(sizeof(Work), sizeof(Timer));
    EXPECT_EQ(sizeof(Writer), sizeof(Reader));
    EXPECT_EQ(sizeof(Blast), sizeof(Threads));
}

}  // namespace
