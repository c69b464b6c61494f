// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/clock.hpp>

#include <gtest/gtest.h>

#include <ctime>

namespace cinnabar {
namespace {

using namespace std::chrono_literals;

static_assert(after(5, 7us) == 12);
static_assert(after(5, 1ms) == 1005);

TEST(Clock, AfterSaturatesAndNeverGoesBack) {
    EXPECT_EQ(after(5, -1us), 5u);
    EXPECT_EQ(after(5, Microseconds::min()), 5u);
    EXPECT_EQ(after(time_never, 1us), time_never);
    EXPECT_EQ(after(time_never - 3, 2us), time_never - 1);
    EXPECT_EQ(after(time_never - 3, 100us), time_never);
    EXPECT_EQ(after(0, Microseconds::max()), static_cast<TimeUs>(Microseconds::max().count()));
}

TimeUs monotonic_us() {
    timespec t{};
    EXPECT_EQ(::clock_gettime(CLOCK_MONOTONIC, &t), 0);
    return static_cast<TimeUs>(t.tv_sec) * 1'000'000u + static_cast<TimeUs>(t.tv_nsec) / 1'000u;
}

TEST(Clock, SteadyClockIsTheMonotonicOneInMicroseconds) {
    constexpr TimeUs off_us = 2;
    TimeUs before = 0;
    for (const TimeUs end = monotonic_us() + 50'000; before < end;) {
        before = monotonic_us();
        const TimeUs now = steady_clock().now_us();
        const TimeUs later = monotonic_us();
        ASSERT_GE(now + off_us, before);
        ASSERT_LE(now, later + off_us);
    }
    EXPECT_EQ(&steady_clock(), &steady_clock());
}

TEST(Clock, TheCoarseClockIsNeverAhead) {
    for (const TimeUs end = monotonic_us() + 20'000; monotonic_us() < end;) {
        const TimeUs coarse = steady_clock().coarse_us();
        ASSERT_LE(coarse, steady_clock().now_us());
    }
}

}  // namespace
}  // namespace cinnabar
