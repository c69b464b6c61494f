// SPDX-License-Identifier: BSD-3-Clause
// The hybrid logical clock by itself, with wall clocks that are set forward and back.
#include <cinnabar/base/random.hpp>
#include <cinnabar/group/hybrid_clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::HybridClock;
using group::HybridTime;

constexpr std::uint64_t noon = 1'700'000'000'000'000;

TEST(hybrid_clock, times_are_those_of_the_day_and_grow_when_it_is_set_back) {
    std::uint64_t wall = noon;
    HybridClock clock({.wall_us = [&wall] { return wall; }});
    EXPECT_EQ(clock.now(), HybridTime::at(noon));
    EXPECT_EQ(clock.now().logical(), 1u);
    wall -= 3'600'000'000;
    HybridTime last = clock.now();
    EXPECT_GT(last, HybridTime::at(noon));
    for (int i = 0; i < 10'000; ++i) {  // more than fit in a microsecond
        const HybridTime next = clock.now();
        EXPECT_GT(next, last);
        last = next;
    }
    EXPECT_LT(last.wall_us(), noon + 10);
    wall = noon + 50;
    EXPECT_EQ(clock.now(), HybridTime::at(noon + 50)) << "it has caught up";
}

TEST(hybrid_clock, a_time_that_is_too_far_ahead_is_refused_and_changes_nothing) {
    HybridClock clock({.drift_max = 1s, .wall_us = [] { return noon; }});
    EXPECT_TRUE(clock.hear(HybridTime::at(noon + 1'000'000)));
    EXPECT_GT(clock.now(), HybridTime::at(noon + 1'000'000));
    EXPECT_EQ(clock.ahead(clock.now()), 1s);
    EXPECT_FALSE(clock.hear(HybridTime::at(noon + 1'000'100))) << "nor can it be moved on step by step";
    EXPECT_FALSE(clock.hear(HybridTime(~std::uint64_t{0})));
    EXPECT_LT(clock.now(), HybridTime::at(noon + 1'000'001));
    EXPECT_TRUE(clock.hear(HybridTime())) << "no time";
    EXPECT_TRUE(clock.hear(HybridTime::at(noon - 3'600'000'000))) << "one that is behind harms nobody";
}

// Processes whose clocks differ and jump send each other messages: an event that happened before another one has the
// smaller time.
TEST(hybrid_clock, what_happened_before_has_the_smaller_time) {
    Random random(7);
    std::vector<std::uint64_t> walls(5, noon);
    std::vector<std::unique_ptr<HybridClock>> clocks;
    for (std::uint64_t& wall : walls)
        clocks.push_back(std::make_unique<HybridClock>(group::ClockOptions{1s, [&wall] { return wall; }}));
    std::vector<HybridTime> latest(5);  // the latest event that happened before the next event of that process
    for (int step = 0; step < 100'000; ++step) {
        for (std::uint64_t& wall : walls) wall = noon + static_cast<std::uint64_t>(step) + random.below(400'000);
        const auto from = random.below(5);
        const auto to = random.below(5);
        const HybridTime sent = clocks[from]->now();
        ASSERT_GT(sent, latest[from]);
        latest[from] = sent;
        ASSERT_TRUE(clocks[to]->hear(sent));
        latest[to] = std::max(latest[to], sent);
    }
    EXPECT_LT(clocks[0]->now().wall_us(), noon + 600'000) << "it stays close to the time of day";
}

TEST(hybrid_clock, no_two_threads_get_the_same_time) {
    HybridClock clock({});
    std::vector<std::vector<std::uint64_t>> got(4);
    std::vector<std::thread> threads;
    for (auto& mine : got) {
        threads.emplace_back([&] {
            for (int i = 0; i < 5'000; ++i) {
                mine.push_back(clock.now().bits());
                (void)clock.hear(HybridTime(mine.back() + 3));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<std::uint64_t> all;
    for (const auto& mine : got) {
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace cinnabar::test
