// SPDX-License-Identifier: BSD-3-Clause
// Rows of few runs, of one side alone, and of nothing; and how large a figure may be.
#include "bench/harness/figure.hpp"
#include "bench/harness/pairs.hpp"
#include "bench/harness/room.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::uint64_t one_gib = std::uint64_t{1} << 30;

TEST(Pairs, AreComparedPairByPair) {
    Pairs pairs;
    for (const double speed : {1.0, 10.0, 3.0, 7.0}) pairs.add(1.2 * speed, speed, speed);
    const Row row = pairs.row("a.figure", "ms", Bar{Sense::at_most, 1.3}, "the limit");
    EXPECT_DOUBLE_EQ(row.value, 6.0);
    EXPECT_DOUBLE_EQ(row.limit.value(), 5.0);
    EXPECT_NEAR(row.ratio.value().median, 1.2, 1e-9);
    EXPECT_NEAR(row.noise.value(), 0, 1e-9);
    EXPECT_EQ(row.verdict, Verdict::held);
    EXPECT_EQ(row.limit_name, "the limit");
    EXPECT_EQ(row.remark, "4 runs");
}

TEST(Pairs, WithoutALimitThereIsNoVerdict) {
    Pairs pairs;
    pairs.add(3);
    const Row row = pairs.row("a.figure", "ms", Bar{Sense::at_most, 1.3}, "the limit");
    EXPECT_EQ(row.value, 3);
    EXPECT_FALSE(row.limit || row.ratio || row.noise || row.verdict);
    EXPECT_EQ(row.limit_name, "");
}

class Steady : public Subject {
  public:
    Slice run_slice(std::chrono::milliseconds) override {
        Slice slice;
        slice.work = runs_++ == 0 ? 1 : 10;  // the first one is discarded
        slice.seconds = 2;
        return slice;
    }

  private:
    int runs_ = 0;
};

TEST(Rows, OneSideAloneSaysWhy) {
    Steady ours;
    const Contest contest{"a.figure", "kB/s", 1e-3, Metric::work_per_second, Bar{Sense::at_least, 2}, "a program"};
    const Row row = row_alone(contest, ours, 3, "it is not installed", Effort{});
    EXPECT_DOUBLE_EQ(row.value, 0.005);
    EXPECT_EQ(row.remark, "3 runs; comparison skipped: it is not installed");
    EXPECT_TRUE(row.bar);
    EXPECT_FALSE(row.verdict || row.ratio || row.limit);
}

TEST(Rows, ASkippedOneHasNoValue) {
    const Row row = skipped_row("a.figure", "too little memory");
    EXPECT_EQ(row.remark, "skipped: too little memory");
    EXPECT_NE(to_json({row}).find("\"value\": null"), std::string::npos) << to_json({row});
    EXPECT_EQ(to_table({row}).find("nan"), std::string::npos) << to_table({row});
}

TEST(Room, SizesAreHalvedUntilTheyFit) {
    EXPECT_EQ(size_that_fits(4 * one_gib, one_gib / 4, 3, 100 * one_gib), 4 * one_gib);
    EXPECT_EQ(size_that_fits(4 * one_gib, one_gib / 4, 3, 12 * one_gib), 4 * one_gib);
    EXPECT_EQ(size_that_fits(4 * one_gib, one_gib / 4, 3, 12 * one_gib - 1), 2 * one_gib);
    EXPECT_EQ(size_that_fits(4 * one_gib, one_gib / 4, 3, one_gib), one_gib / 4);
    EXPECT_THROW((void)size_that_fits(4 * one_gib, one_gib / 4, 3, one_gib / 2), std::runtime_error);
}

TEST(Room, SizesAreTold) {
    EXPECT_EQ(size_remark(4 * one_gib, 4 * one_gib), "4 GiB");
    EXPECT_EQ(size_remark(2 * one_gib, 4 * one_gib), "2 GiB for lack of room");
    EXPECT_EQ(size_remark(one_gib / 2, one_gib / 2), "512 MiB");
}

TEST(Room, SomeMemoryIsLeft) {
    EXPECT_GT(memory_to_use(), 0u);
    EXPECT_LE(room_for_files(), memory_to_use() + one_gib);  // it changes meanwhile
}

}  // namespace
}  // namespace cinnabar::bench
