// SPDX-License-Identifier: BSD-3-Clause
// Where the time of calls went, as cells of a table and as a line.
#include "made_up_results.hpp"
#include "perf/output.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::tools::perf {
namespace {

TEST(PerfPartTexts, AreTheMeansOfTheTimedCalls) {
    const CallResult row = call_row(16, 0);
    EXPECT_EQ(part_cells(row), "100,16.0,0.0,0.0,9.0,48.0,7.0,0.0,0.0,0.0");
    EXPECT_EQ(
        part_text(row),
        "means of 100 timed calls: connecting 16.0 us, on the wire there 9.00 us, waiting for the handler 48.0 us, "
        "in the handler 7.00 us");
}

TEST(PerfPartTexts, OfNoTimedCallsAreEmpty) {
    CallResult row = call_row(1, 0);
    const auto columns = std::ranges::count(part_cells(row), ',');
    row.timed = 0;
    EXPECT_EQ(part_cells(row), "0,,,,,,,,,");
    EXPECT_EQ(std::ranges::count(part_cells(row), ','), columns);
    EXPECT_EQ(part_text(row), "");
    row.timed = 5;
    row.parts_us = {};
    EXPECT_EQ(part_text(row), "");
}

}  // namespace
}  // namespace cinnabar::tools::perf
