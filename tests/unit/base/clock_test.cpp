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

TEST(Clock, SteadyClockIsTheMonotonicOneInMicroseconds) {
    timespec before{};
    ASSERT_EQ(::clock_gettime(CLOCK_MONOTONIC, &before), 0);
    const TimeUs now = steady_clock().now_us();
    timespec later{};
    ASSERT_EQ(::clock_gettime(CLOCK_MONOTONIC, &later), 0);
    const auto us = [](const timespec& t) {
        return static_cast<TimeUs>(t.tv_sec) * 1'000'000u + static_cast<TimeUs>(t.tv_nsec) / 1'000u;
    };
    EXPECT_GE(now, us(before));
    EXPECT_LE(now, us(later));
    EXPECT_EQ(&steady_clock(), &steady_clock());
}

}  // namespace
}  // namespace cinnabar
