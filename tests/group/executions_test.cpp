// SPDX-License-Identifier: BSD-3-Clause
// Each call runs once, and the memory for past calls is bounded.
#include "executions.hpp"

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using group::CallId;
using group::Executions;

constexpr std::uint64_t bytes_max = 1'000'000;

na::Addr peer(const char* name) { return na::Addr::parse(std::string("tcp://127.0.0.1:") + name).value(); }

TEST(executions, the_second_delivery_of_a_call_finds_the_first) {
    Executions calls(16, bytes_max);
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
    Executions calls(16, bytes_max);
    std::uint64_t begun = 0;
    for (std::uint64_t i = 0; i < 100; ++i) begun += calls.find_or_begin({1, i}, peer("1"), 0).fresh;
    EXPECT_EQ(begun, 8u);
    for (std::uint64_t i = 0; i < 100; ++i) begun += calls.find_or_begin({2, i}, peer("2"), 0).fresh;
    EXPECT_EQ(begun, 16u);
}

// One peer makes more calls one after the other than may run at once.
TEST(executions, an_answer_makes_room_and_its_call_is_not_run_again) {
    Executions calls(16, bytes_max);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto call = calls.find_or_begin({1, i}, peer("1"), i);
        ASSERT_TRUE(call.fresh);
        calls.end(*call.execution, {}, i);
        calls.stop_waiting(*call.execution, i);
    }
    EXPECT_EQ(calls.answers(), 8u);
    const auto first = calls.find_or_begin({1, 0}, peer("2"), 100);
    EXPECT_TRUE(first.forgotten && !first.execution && !first.fresh);
    const auto last = calls.find_or_begin({1, 99}, peer("2"), 100);
    EXPECT_TRUE(last.execution && !last.fresh);
    calls.sweep(200 + static_cast<TimeUs>(Executions::answer_kept.count()));
    EXPECT_EQ(calls.size() + calls.answers(), 0u);
}

TEST(executions, those_that_are_remembered_are_bounded) {
    Executions calls(16, bytes_max);
    std::uint64_t begun = 0;
    for (const char* source : {"1", "2", "3"}) {
        for (std::uint64_t i = 0; i < 1000; ++i) {
            const auto call = calls.find_or_begin({static_cast<std::uint64_t>(*source), i}, peer(source), 0);
            if (!call.fresh) continue;
            ++begun;
            calls.end(*call.execution, {}, 0);
        }
    }
    EXPECT_EQ(begun, 16 * Executions::remembered);
    EXPECT_EQ(calls.answers(), 16u);
    EXPECT_FALSE(calls.find_or_begin({9, 9}, peer("1"), 0).execution);
}

TEST(executions, a_later_peer_gets_room_from_answers_of_others) {
    Executions calls(16, bytes_max);
    for (const char* source : {"1", "2"}) {
        for (std::uint64_t i = 0; i < 8; ++i) {
            const auto call = calls.find_or_begin({static_cast<std::uint64_t>(*source), i}, peer(source), 0);
            calls.end(*call.execution, {}, 0);
        }
    }
    EXPECT_TRUE(calls.find_or_begin({3, 1}, peer("3"), 0).fresh);
}

TEST(executions, one_call_may_run_if_calls_max_is_one) {
    Executions calls(1, bytes_max);
    const auto first = calls.find_or_begin({1, 1}, peer("1"), 0);
    ASSERT_TRUE(first.fresh);
    EXPECT_FALSE(calls.find_or_begin({2, 1}, peer("2"), 0).execution);
    calls.end(*first.execution, {}, 0);
    EXPECT_TRUE(calls.find_or_begin({2, 1}, peer("2"), 0).fresh);
}

TEST(executions, answers_have_so_many_bytes_and_those_of_one_peer_half_of_them) {
    Executions calls(64, bytes_max);
    const auto answered = [&](const char* source, std::uint64_t number, std::size_t bytes) {
        const CallId id{static_cast<std::uint64_t>(*source), number};
        const auto call = calls.find_or_begin(id, peer(source), number);
        group::TreeAnswer answer;
        answer.combined.resize(bytes);
        calls.end(*call.execution, std::move(answer), number);
        EXPECT_EQ(call.execution->answer.combined.size(), bytes) << "who waits for it gets it";
    };
    for (std::uint64_t i = 0; i < 20; ++i) answered("1", i, 100'000);
    EXPECT_EQ(calls.answer_bytes(), bytes_max / 2);
    EXPECT_TRUE(calls.find_or_begin({'1', 14}, peer("2"), 20).forgotten);
    EXPECT_TRUE(calls.find_or_begin({'1', 15}, peer("2"), 20).execution);
    answered("2", 1, 350'000);
    answered("3", 1, 350'000);
    EXPECT_EQ(calls.answer_bytes(), 1'000'000u) << "the oldest of the peer with most have made room";
    EXPECT_TRUE(calls.find_or_begin({'1', 16}, peer("2"), 20).forgotten);
    answered("4", 1, bytes_max);
    EXPECT_TRUE(calls.find_or_begin({'4', 1}, peer("2"), 20).forgotten) << "it alone is too large";
    calls.sweep(100 + static_cast<TimeUs>(Executions::answer_kept.count()));
    EXPECT_EQ(calls.answer_bytes(), 0u);
}

TEST(executions, nothing_begins_or_is_kept_after_the_end) {
    Executions calls(16, bytes_max);
    const auto over = calls.find_or_begin({1, 1}, peer("1"), 0);
    calls.end(*over.execution, {}, 0);
    const auto running = calls.find_or_begin({1, 2}, peer("1"), 0);
    calls.stop_all();
    EXPECT_EQ(calls.size(), 1u);
    EXPECT_TRUE(running.execution->stop.stop_requested());
    EXPECT_FALSE(calls.find_or_begin({1, 3}, peer("1"), 0).execution);
    calls.end(*running.execution, {}, 0);
    EXPECT_EQ(calls.size(), 0u);
    EXPECT_TRUE(running.execution->ended->is_set());
}

TEST(executions, a_call_that_nobody_waits_for_is_stopped_after_the_grace) {
    Executions calls(16, bytes_max);
    const auto call = calls.find_or_begin({1, 1}, peer("1"), 0);
    const auto grace = static_cast<TimeUs>(Executions::orphan_grace.count());
    calls.stop_waiting(*call.execution, 100);
    calls.sweep(99 + grace);
    EXPECT_FALSE(call.execution->stop.stop_requested());
    (void)calls.find_or_begin({1, 1}, peer("2"), 99 + grace);  // another parent takes over
    calls.sweep(200 + grace);
    EXPECT_FALSE(call.execution->stop.stop_requested());
    calls.stop_waiting(*call.execution, 300 + grace);
    calls.sweep(300 + 2 * grace);
    EXPECT_TRUE(call.execution->stop.stop_requested());
}

TEST(executions, a_call_that_nobody_waits_for_ends_after_its_grace) {
    Executions calls(100, 1000);
    const auto plain = calls.find_or_begin({1, 1}, peer("1"), 0);
    const auto patient = calls.find_or_begin({1, 2}, peer("1"), 0, std::chrono::seconds(5));
    calls.stop_waiting(*plain.execution, 0);
    calls.stop_waiting(*patient.execution, 0);
    calls.sweep(4'000'000);
    EXPECT_TRUE(plain.execution->stop.stop_requested());
    EXPECT_FALSE(patient.execution->stop.stop_requested()) << "its member may come back";
    calls.sweep(8'000'000);
    EXPECT_TRUE(patient.execution->stop.stop_requested());
}

TEST(executions, only_a_call_that_is_known_is_found_again) {
    Executions calls(100, 1000);
    EXPECT_TRUE(calls.find({1, 1}, 0).forgotten) << "it has not begun";
    const auto first = calls.find_or_begin({1, 1}, peer("1"), 0);
    const auto again = calls.find({1, 1}, 0);
    EXPECT_EQ(again.execution, first.execution);
    EXPECT_FALSE(again.fresh);
    calls.end(*first.execution, {}, 0);
    EXPECT_EQ(calls.find({1, 1}, 1'000'000).execution, first.execution) << "its answer is kept";
    EXPECT_TRUE(calls.find({1, 1}, 20'000'000).forgotten);
    EXPECT_EQ(calls.size(), 0u);
}

}  // namespace
}  // namespace cinnabar::test
