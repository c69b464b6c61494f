// SPDX-License-Identifier: BSD-3-Clause
#include "perf/shapes.hpp"

#include "perf/results.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::tools::perf {
namespace {

TEST(PerfShapes, EveryCombinationOnce) {
    CallsOptions options;
    options.sizes = {64, 4096};
    options.depths = {1, 16, 64};
    options.contexts = {1, 2};
    std::vector<std::string> labels;
    for (const auto& shape : shapes_of(options)) labels.push_back(label_of(shape));
    ASSERT_EQ(labels.size(), 12u);
    EXPECT_EQ(labels.front(), "64 B, depth 1");
    EXPECT_EQ(labels.back(), "4 KiB, depth 64, 2 contexts");
    std::ranges::sort(labels);
    EXPECT_EQ(std::ranges::adjacent_find(labels), labels.end());
}

TEST(PerfShapes, AnOpenLoopMayHaveManyCallsInFlight) {
    CallsOptions options;
    EXPECT_EQ(shapes_of(options).at(0).depth, 1u);
    options.rates = {1000, 2000};
    options.arrivals = Arrivals::poisson;
    const auto shapes = shapes_of(options);
    ASSERT_EQ(shapes.size(), 2u);
    EXPECT_GT(shapes[0].depth, 10'000u);
    EXPECT_EQ(label_of(shapes[1]), "64 B, 2000 calls/s planned (poisson)");
}

TEST(PerfShapes, StepsAreMadeOfTheBestClosedLoop) {
    CallsOptions options;
    options.steps_percent = {50, 90};
    std::vector<CallResult> closed(3);
    for (std::size_t i = 0; i < closed.size(); ++i) {
        closed[i].shape.depth = static_cast<std::uint32_t>(i + 1);
        closed[i].shape.contexts = static_cast<std::uint32_t>(i + 1);
        closed[i].outcomes.done = 1;
    }
    closed[0].rates = {100, 200};
    closed[1].rates = {1000, 3000};
    closed[2].rates = {9000};
    closed[2].outcomes.done = 0;  // nothing went well: no rate to go by
    const auto steps = steps_of(options, closed);
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].rate, 1000);
    EXPECT_EQ(steps[1].rate, 1800);
    EXPECT_EQ(steps[1].contexts, 2u);
    EXPECT_TRUE(steps_of(options, {}).empty());
}

TEST(PerfShapes, SizesAreTold) {
    EXPECT_EQ(size_text(1), "1 B");
    EXPECT_EQ(size_text(1023), "1023 B");
    EXPECT_EQ(size_text(1025), "1025 B");
    EXPECT_EQ(size_text(16384), "16 KiB");
    EXPECT_EQ(size_text(3u << 20), "3 MiB");
    BulkOptions options;
    options.sizes = {1u << 20};
    options.segments = {16};
    options.memories = {MemoryKind::allocated};
    EXPECT_EQ(label_of(shapes_of(options).at(1)), "1 MiB push, depth 8, 16 segments, allocated");
}

TEST(PerfShapes, AnOpenLoopThatIsLateSaysSo) {
    CallResult row;
    row.rates = {950};
    EXPECT_FALSE(row.saturated());  // closed
    row.shape.rate = 1000;
    EXPECT_FALSE(row.saturated());
    row.outcomes.unsent = 1;
    EXPECT_TRUE(row.saturated());
    row.outcomes.unsent = 0;
    row.rates = {949};
    EXPECT_TRUE(row.saturated());
}

}  // namespace
}  // namespace cinnabar::tools::perf
