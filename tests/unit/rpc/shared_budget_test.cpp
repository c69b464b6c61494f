// SPDX-License-Identifier: BSD-3-Clause
#include "shared_budget.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace cinnabar::rpc {
namespace {

TEST(SharedBudget, APeerMayHaveWhatAllLeaveFree) {
    SharedBudget budget(100);
    SharedBudget::Part first{0};
    SharedBudget::Part second{0};
    EXPECT_FALSE(budget.take(51, &first));
    EXPECT_TRUE(budget.take(50, &first));
    EXPECT_FALSE(budget.take(1, &first));
    EXPECT_FALSE(budget.take(26, &second));
    EXPECT_TRUE(budget.take(25, &second));
    EXPECT_TRUE(budget.take(25, nullptr));
    EXPECT_FALSE(budget.take(1, nullptr));
    EXPECT_FALSE(budget.take(~std::uint64_t{0}, &second));
    EXPECT_EQ(budget.taken(), 100u);
    budget.give_back(50, &first);
    budget.give_back(25, &second);
    EXPECT_EQ(first + second, 0u);
    EXPECT_EQ(budget.taken(), 25u);
}

TEST(SharedBudget, WhatIsRefusedTakesNothingFromOthers) {
    SharedBudget budget(100);
    std::atomic<bool> over{false};
    std::thread greedy([&] {
        SharedBudget::Part part{0};
        while (!over.load(std::memory_order_relaxed)) EXPECT_FALSE(budget.take(100, &part));
    });
    SharedBudget::Part part{0};
    int refused = 0;
    for (int i = 0; i < 2'000'000; ++i) {
        if (budget.take(1, &part)) {
            budget.give_back(1, &part);
        } else {
            ++refused;
        }
    }
    over = true;
    greedy.join();
    EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace cinnabar::rpc
