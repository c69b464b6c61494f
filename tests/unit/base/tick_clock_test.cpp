// SPDX-License-Identifier: BSD-3-Clause
#include "tick_clock.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

// A simulated machine whose counter, clock and delays a test sets.
struct Machine {
    double real_ns = 5e12;
    double ticks_per_ns = 2.9;
    double clock_speed = 1;  // of the clock relative to the counter, as when it is corrected
    double clock_ns = 5e12;
    double read_ns = 12;  // the time that a reading takes
    std::uint64_t tick_offset = 0;
    std::uint64_t clock_reads = 0;
    bool usable = true;
    std::uint64_t held_up_one_in = 0;  // of the readings: the thread loses its processor before and after it
    Random random{7};

    void maybe_hold_up() noexcept {
        if (random.chance(held_up_one_in)) pass(static_cast<double>(random.below(3'000'000)));
    }
    void pass(double ns) noexcept {
        real_ns += ns;
        clock_ns += ns * clock_speed;
    }
    [[nodiscard]] TimeUs clock_us() const noexcept { return static_cast<TimeUs>(clock_ns / 1000); }
};
Machine machine;

struct MadeTicks {
    static std::uint64_t ticks() noexcept {
        machine.maybe_hold_up();
        machine.pass(machine.read_ns);
        const auto read = static_cast<std::uint64_t>(machine.real_ns * machine.ticks_per_ns) + machine.tick_offset;
        machine.maybe_hold_up();
        return read;
    }
    static std::uint64_t monotonic_ns() noexcept {
        machine.maybe_hold_up();
        machine.pass(machine.read_ns);
        ++machine.clock_reads;
        const auto read = static_cast<std::uint64_t>(machine.clock_ns);
        machine.maybe_hold_up();
        return read;
    }
    static bool usable() noexcept { return machine.usable; }
    static void pause() noexcept {}
};

class TickClockTest : public ::testing::Test {
  protected:
    TickClockTest() { machine = Machine{}; }
    // Reads the clock every `each_ns` until `ns` have passed. It must never go back, nor be off by more than `off_us`.
    void read_for(double ns, double each_ns, TimeUs off_us) {
        const double end = machine.real_ns + ns;
        while (machine.real_ns < end) {
            machine.pass(each_ns);
            const TimeUs now = clock_.now_ns(kept_) / 1000;
            ASSERT_GE(now, last_);
            last_ = now;
            const TimeUs real = machine.clock_us();
            ASSERT_LE(now > real ? now - real : real - now, off_us);
        }
    }

    TickClock<MadeTicks> clock_;
    TickClock<MadeTicks>::Kept kept_;
    TimeUs last_ = 0;
};

constexpr double ms = 1e6;

TEST_F(TickClockTest, ReadsTheClockEveryTenMillisecondsOnly) {
    read_for(20 * ms, 1000, 1);
    machine.clock_reads = 0;
    read_for(1000 * ms, 1000, 1);
    EXPECT_GE(machine.clock_reads, 95u);
    EXPECT_LE(machine.clock_reads, 110u);
}

TEST_F(TickClockTest, ReadsTheClockEachTimeWhereTheCounterIsNotGood) {
    machine.usable = false;
    read_for(20 * ms, 1000, 0);
    EXPECT_GE(machine.clock_reads, 19'000u);
}

TEST_F(TickClockTest, FollowsAClockThatIsCorrected) {
    for (const double speed : {1.0, 1.0005, 0.9995, 1.00002, 1.0}) {
        machine.clock_speed = speed;
        read_for(40 * ms, 1000, 11);  // until the new speed is noticed
        read_for(100 * ms, 1000, 1);
    }
}

TEST_F(TickClockTest, IsRightAtOnceAfterALongPause) {
    read_for(20 * ms, 1000, 1);
    for (int pause = 0; pause < 10; ++pause) {
        machine.pass(3e11);
        read_for(1 * ms, 1000, 1);
    }
}

TEST_F(TickClockTest, GoesOnWhereTheCounterJumps) {
    read_for(50 * ms, 1000, 1);
    for (const double jump_ms : {-1e6, 2.0, 9.0, 25.0, 1e6}) {
        machine.tick_offset +=
            static_cast<std::uint64_t>(static_cast<std::int64_t>(jump_ms * ms * machine.ticks_per_ns));
        read_for(60 * ms, 1000, 10'001);
        read_for(60 * ms, 1000, 1);
    }
}

TEST_F(TickClockTest, GoesOnWithACounterOfAnotherSpeed) {
    read_for(50 * ms, 1000, 1);
    machine.tick_offset += static_cast<std::uint64_t>(machine.real_ns * machine.ticks_per_ns);
    machine.ticks_per_ns = 2.1;
    machine.tick_offset -= static_cast<std::uint64_t>(machine.real_ns * machine.ticks_per_ns);
    read_for(60 * ms, 1000, 10'001);
    read_for(100 * ms, 1000, 1);
}

TEST_F(TickClockTest, IsRightHoweverOftenItsThreadIsHeldUp) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        machine = Machine{};
        machine.held_up_one_in = 8;
        machine.random = Random(seed);
        TickClock<MadeTicks> clock;
        TickClock<MadeTicks>::Kept kept;
        last_ = 0;
        for (int i = 0; i < 200; ++i) {
            machine.pass(static_cast<double>(machine.random.below(2'000'000)));
            const TimeUs before = machine.clock_us();
            const TimeUs now = clock.now_ns(kept) / 1000;
            ASSERT_GE(now, last_) << seed;
            ASSERT_GE(now + 1, before) << seed;
            ASSERT_LE(now, machine.clock_us() + 1) << seed;
            last_ = now;
        }
    }
}

// As threads do that read the clock at different times: one draws a line while others use the last one.
TEST_F(TickClockTest, IsRightForEachThreadWhicheverLineItKeeps) {
    std::array<TickClock<MadeTicks>::Kept, 3> kept;
    std::array<TimeUs, kept.size()> last{};
    for (int i = 0; i < 100'000; ++i) {            // 150 ms
        if (i == 20'000) machine.clock_reads = 0;  // the length of a tick is known by now
        machine.pass(static_cast<double>(machine.random.below(3'000)));
        const std::size_t thread = machine.random.below(kept.size());
        const TimeUs now = clock_.now_ns(kept[thread]) / 1000;
        ASSERT_GE(now, last[thread]);
        last[thread] = now;
        const TimeUs real = machine.clock_us();
        ASSERT_LE(now > real ? now - real : real - now, 1u);
    }
    EXPECT_LE(machine.clock_reads, 20u) << "one line for all, each 10 ms";
}

TEST(TickClockThreads, GoesBackOnNone) {
    std::atomic<bool> back{false};
    std::vector<std::thread> threads;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (std::uint64_t last = 0; std::chrono::steady_clock::now() < end && !back;) {
                const std::uint64_t now = steady_ns();
                if (now < last) back = true;
                last = now;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(back);
}

}  // namespace
}  // namespace cinnabar
