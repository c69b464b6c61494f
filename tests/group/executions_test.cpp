// SPDX-License-Identifier: BSD-3-Clause
// A call is run once, and what is kept for that has limits.
#include "executions.hpp"

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using group::CallId;
using group::Executions;

na::Addr peer(const char* name) { return na::Addr::parse(std::string("tcp://127.0.0.1:") + name).value(); }

TEST(executions, the_second_delivery_of_a_call_finds_the_first) {
    Executions calls(16);
    const auto first = calls.find_or_begin({1, 1}, peer("1"), 0);
    const auto second = calls.find_or_begin({1, 1}, peer("2"), 0);
    EXPECT_TRUE(first.fresh);
    EXPECT_FALSE(second.fresh);
    EXPECT_EQ(first.execution, second.execution);
    calls.end(*first.execution, {}, 5);
    EXPECT_FALSE(calls.find_or_begin({1, 1}, peer("1"), 5).fresh) << "nor is it run again after its end";
    calls.sweep(5 + static_cast<TimeUs>(Executions::answer_kept.count()));
    EXPECT_EQ(calls.size(), 0u);
}

TEST(executions, one_peer_has_half_of_them) {
    Executions calls(16);
    std::uint64_t begun = 0;
    for (std::uint64_t i = 0; i < 100; ++i) begun += calls.find_or_begin({1, i}, peer("1"), 0).fresh;
    EXPECT_EQ(begun, 8u);
    for (std::uint64_t i = 0; i < 100; ++i) begun += calls.find_or_begin({2, i}, peer("2"), 0).fresh;
    EXPECT_EQ(begun, 16u);
}

TEST(executions, a_call_that_nobody_waits_for_is_stopped_after_the_grace) {
    Executions calls(16);
    const auto call = calls.find_or_begin({1, 1}, peer("1"), 0);
    const auto grace = static_cast<TimeUs>(Executions::orphan_grace.count());
    calls.stop_waiting(*call.execution, 100);
    calls.sweep(99 + grace);
    EXPECT_FALSE(call.execution->stop.stop_requested());
    (void)calls.find_or_begin({1, 1}, peer("2"), 99 + grace);  // taken over
    calls.sweep(200 + grace);
    EXPECT_FALSE(call.execution->stop.stop_requested());
    calls.stop_waiting(*call.execution, 300 + grace);
    calls.sweep(300 + 2 * grace);
    EXPECT_TRUE(call.execution->stop.stop_requested());
}

}  // namespace
}  // namespace cinnabar::test
