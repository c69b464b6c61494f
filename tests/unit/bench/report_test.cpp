// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/report.hpp"

#include <gtest/gtest.h>

namespace cinnabar::bench {
namespace {

Row full_row() {
    Row row;
    row.name = "tcp.rtt";
    row.value = 10.5;
    row.unit = "us";
    row.limit_name = "raw \"socket\"";
    row.limit = 10;
    row.ratio = Interval{1.05, 1.04, 1.06};
    row.noise = 0.01;
    row.bar = Bar{Sense::at_most, 1.2};
    row.verdict = Verdict::held;
    return row;
}

TEST(Report, JsonHasEveryKeyAndEscapes) {
    EXPECT_EQ(to_json({full_row()}),
              "[\n  {\"name\": \"tcp.rtt\", \"value\": 10.5, \"unit\": \"us\", "
              "\"limit_name\": \"raw \\\"socket\\\"\", \"limit\": 10, \"ratio\": 1.05, \"ci_low\": 1.04, "
              "\"ci_high\": 1.06, \"noise\": 0.01, "
              "\"bar\": \"<= 1.2\", \"verdict\": \"held\", \"remark\": null}\n]\n");
}

TEST(Report, WhatARowLacksIsNull) {
    Row row;
    row.name = "x";
    row.unit = "MB/s";
    row.value = 1;
    EXPECT_EQ(
        to_json({row, row}),
        "[\n  {\"name\": \"x\", \"value\": 1, \"unit\": \"MB/s\", \"limit_name\": null, \"limit\": null, "
        "\"ratio\": null, \"ci_low\": null, \"ci_high\": null, \"noise\": null, \"bar\": null, \"verdict\": null, "
        "\"remark\": null},\n"
        "  {\"name\": \"x\", \"value\": 1, \"unit\": \"MB/s\", \"limit_name\": null, \"limit\": null, "
        "\"ratio\": null, \"ci_low\": null, \"ci_high\": null, \"noise\": null, \"bar\": null, \"verdict\": null, "
        "\"remark\": null}\n]\n");
    EXPECT_EQ(to_json({}), "[\n]\n");
}

TEST(Report, TableSaysTheVerdict) {
    const auto text = to_table({full_row()});
    EXPECT_NE(text.find("1.050 [1.040 1.060]"), std::string::npos) << text;
    EXPECT_NE(text.find("<= 1.2"), std::string::npos) << text;
    EXPECT_NE(text.find("held"), std::string::npos) << text;
}

TEST(Report, CountRowIsJudgedExactly) {
    EXPECT_EQ(count_row("a", 0, "allocations", 0).verdict, Verdict::held);
    EXPECT_FALSE(count_row("a", 0, "allocations", 0).ratio);
    EXPECT_EQ(count_row("a", 1, "allocations", 0).verdict, Verdict::missed);
    EXPECT_EQ(count_row("a", 2, "calls", 3).verdict, Verdict::held);
    EXPECT_DOUBLE_EQ(count_row("a", 1.5, "calls", 3).ratio->median, 0.5);
}

}  // namespace
}  // namespace cinnabar::bench
