// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/short_mutex.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

TEST(ShortMutex, OneOwnerAtATimeAndEveryWaiterRuns) {
    constexpr int threads = 4;
    constexpr int rounds = 20'000;
    ShortMutex mutex;
    int count = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
        all.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                const std::lock_guard lock(mutex);
                ++count;
            }
        });
    }
    for (std::thread& each : all) each.join();
    EXPECT_EQ(count, threads * rounds);
}

TEST(ShortMutex, AWaiterContinuesAfterTheUnlock) {
    ShortMutex mutex;
    std::atomic<int> inside{0};
    mutex.lock();
    std::vector<std::thread> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.emplace_back([&] {
            const std::lock_guard lock(mutex);
            ++inside;
        });
    }
    std::this_thread::yield();
    EXPECT_EQ(inside.load(), 0);
    mutex.unlock();
    for (std::thread& each : waiting) each.join();
    EXPECT_EQ(inside.load(), 3);
}

}  // namespace
}  // namespace cinnabar
