// SPDX-License-Identifier: BSD-3-Clause
#include "perf/busy_time.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::perf {
namespace {

TEST(BusyTime, OverlappingOperationsCountOnce) {
    BusyTime busy(100, 200);
    busy.begin(110);
    busy.begin(115);
    busy.end(120);
    EXPECT_EQ(busy.busy_ns(), 0u) << "one is still in flight";
    busy.end(130);
    EXPECT_EQ(busy.busy_ns(), 20u);
    busy.begin(150);
    busy.end(151);
    EXPECT_EQ(busy.busy_ns(), 21u);
}

TEST(BusyTime, CountsOnlyItsWindow) {
    BusyTime busy(100, 200);
    busy.begin(10);
    busy.end(20);
    EXPECT_EQ(busy.busy_ns(), 0u);
    busy.begin(90);
    busy.end(105);
    EXPECT_EQ(busy.busy_ns(), 5u);
    busy.begin(190);
    busy.end(300);
    EXPECT_EQ(busy.busy_ns(), 15u);
    busy.begin(310);
    busy.end(320);
    EXPECT_EQ(busy.busy_ns(), 15u);
}

}  // namespace
}  // namespace cinnabar::tools::perf
