// SPDX-License-Identifier: BSD-3-Clause
#include "perf/schedule.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::perf {
namespace {

TEST(PerfSchedule, EvenStartsDoNotDrift) {
    constexpr double rate = 3;  // its gap is not a whole number
    Schedule schedule(rate, Arrivals::even, 1000, 1);
    EXPECT_EQ(schedule.next_ns(), 1000u);
    for (int i = 0; i < 3'000'000; ++i) schedule.advance();
    EXPECT_EQ(schedule.next_ns(), 1000u + 1'000'000'000'000'000u);
}

TEST(PerfSchedule, PoissonStartsHaveTheRateAndItsSpread) {
    constexpr int count = 100'000;
    Schedule schedule(1e6, Arrivals::poisson, 0, 1);
    double squares = 0;
    std::uint64_t before = schedule.next_ns();
    for (int i = 0; i < count; ++i) {
        schedule.advance();
        const auto gap = static_cast<double>(schedule.next_ns() - before);
        before = schedule.next_ns();
        squares += gap * gap;
    }
    // The mean is 1000 ns and the deviation is as large, so the mean square is 2 * mean^2.
    EXPECT_NEAR(static_cast<double>(before) / count, 1000, 15);
    EXPECT_NEAR(squares / count, 2e6, 6e4);
}

TEST(PerfSchedule, TwoSeedsAreTwoSchedules) {
    Schedule one(1000, Arrivals::poisson, 0, 1);
    Schedule other(1000, Arrivals::poisson, 0, 2);
    one.advance();
    other.advance();
    EXPECT_NE(one.next_ns(), other.next_ns());
}

}  // namespace
}  // namespace cinnabar::tools::perf
