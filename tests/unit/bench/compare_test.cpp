// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/compare.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

// A simulated machine whose speed swings between 1 and 2 from slice to slice; nothing really runs.
struct Machine {
    double slices = 0;
    std::string order;
    double speed() { return 1.5 + 0.5 * std::sin(slices++ * 0.37); }
};

class Fake : public Subject {
  public:
    Fake(Machine& machine, char name, double seconds_per_work)
        : machine_(machine), name_(name), cost_(seconds_per_work) {}
    Slice run_slice(std::chrono::milliseconds) override {
        machine_.order += name_;
        Slice slice;
        slice.work = 100 * machine_.speed();
        slice.seconds = 100 * cost_;
        slice.client.cpu_seconds = slice.seconds * 0.5;
        slice.server.cpu_seconds = slice.seconds * 0.25;
        return slice;
    }

  private:
    Machine& machine_;
    char name_;
    double cost_;
};

class Idle : public Subject {
  public:
    Slice run_slice(std::chrono::milliseconds) override { return {}; }
};

TEST(Compare, FindsTheRatioThroughDrift) {
    Machine machine;
    Fake ours{machine, 'A', 1.3};
    Fake limit{machine, 'B', 1};
    Fake again{machine, 'C', 1};
    const auto result = compare(ours, limit, again, Metric::seconds_per_work, Effort{});
    EXPECT_NEAR(result.ratio.median, 1.3, 0.03);
    EXPECT_NEAR(result.noise.median, 1.0, 0.03);
    EXPECT_LT(result.ratio.relative_width(), 0.03);
    EXPECT_LE(result.ratio.low, 1.3);
    EXPECT_GE(result.ratio.high, 1.3);
}

TEST(Compare, RunsForthAndBack) {
    Machine machine;
    Fake ours{machine, 'A', 1};
    Fake limit{machine, 'B', 1};
    Fake again{machine, 'C', 1};
    Effort effort;
    effort.seconds_max = 0;
    EXPECT_EQ(compare(ours, limit, again, Metric::work_per_second, effort).rounds, 1u);
    EXPECT_EQ(machine.order,
              "ABC"
              "ABCCBA");
}

TEST(CompareWithFirst, FindsTheRatioOfEachThroughDrift) {
    Machine machine;
    Fake first{machine, 'A', 1};
    Fake second{machine, 'B', 0.8};
    Fake third{machine, 'C', 2};
    Effort effort;
    effort.width_wanted = 0.1;
    const std::array<Subject*, 3> subjects{&first, &second, &third};
    const auto series = compare_with_first(subjects, Metric::work_per_second, effort);
    ASSERT_EQ(series.ratios.size(), 3u);
    ASSERT_EQ(series.values.size(), 3u);
    EXPECT_EQ(series.ratios[0].low, 1);
    EXPECT_EQ(series.ratios[0].high, 1);
    EXPECT_NEAR(series.ratios[1].median, 1.25, 0.05);
    EXPECT_NEAR(series.ratios[2].median, 0.5, 0.03);
    EXPECT_NEAR(series.values[2] / series.values[0], 0.5, 0.1);
    EXPECT_LT(series.ratios[2].relative_width(), 0.1);
    EXPECT_GE(series.rounds, effort.rounds_min);
}

TEST(CompareWithFirst, RunsForthAndBack) {
    Machine machine;
    Fake first{machine, 'A', 1};
    Fake second{machine, 'B', 1};
    Effort effort;
    effort.seconds_max = 0;
    const std::array<Subject*, 2> subjects{&first, &second};
    EXPECT_EQ(compare_with_first(subjects, Metric::work_per_second, effort).rounds, 1u);
    EXPECT_EQ(machine.order,
              "AB"
              "ABBA");
}

TEST(CompareWithFirst, ASliceThatDidNothingIsAnError) {
    Machine machine;
    Fake first{machine, 'A', 1};
    Idle second;
    const std::array<Subject*, 2> subjects{&first, &second};
    EXPECT_THROW((void)compare_with_first(subjects, Metric::work_per_second, Effort{}), std::runtime_error);
}

TEST(Compare, MetricsOfOneSlice) {
    Slice slice;
    slice.work = 10;
    slice.seconds = 2;
    slice.client.cpu_seconds = 1.5;
    slice.server.cpu_seconds = 0.5;
    EXPECT_DOUBLE_EQ(metric_of(Metric::seconds_per_work, slice), 0.2);
    EXPECT_DOUBLE_EQ(metric_of(Metric::cpu_per_work, slice), 0.2);
    EXPECT_DOUBLE_EQ(metric_of(Metric::work_per_second, slice), 5);
}

TEST(Compare, ASliceThatDidNothingIsAnError) {
    Machine machine;
    Idle ours;
    Fake limit{machine, 'B', 1};
    EXPECT_THROW((void)compare(ours, limit, limit, Metric::seconds_per_work, Effort{}), std::runtime_error);
}

}  // namespace
}  // namespace cinnabar::bench
