// SPDX-License-Identifier: BSD-3-Clause
#include "support/at_yield.hpp"

#include <cinnabar/base/callback_slot.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace cinnabar {
namespace {

using Slot = CallbackSlot<int (*)(void*)>;

int answers_one(void*) { return 1; }
int answers_two(void*) { return 2; }

TEST(CallbackSlot, HasWhatWasSetLast) {
    Slot slot(answers_one);
    EXPECT_EQ(slot.get().function, &answers_one);
    EXPECT_EQ(slot.get().user, nullptr);
    int user = 0;
    slot.set(answers_two, &user);
    EXPECT_EQ(slot.get().function, &answers_two);
    EXPECT_EQ(slot.get().user, &user);
    EXPECT_EQ(slot.version(), 1u);
    EXPECT_EQ(Slot().get().function, nullptr);
}

#ifndef NDEBUG
// Two replacements between the two steps of a reader write to the pair that it reads.
TEST(CallbackSlot, AReaderThatIsOvertakenReadsAgain) {
    int one = 1;
    int two = 2;
    Slot slot;
    slot.set(answers_one, &one);
    int overtaken = 0;
    const support::AtYield come_between("callback: function read", [&] {
        if (overtaken++ != 0) return;
        slot.set(answers_one, &one);
        slot.set(answers_two, &two);
    });
    const auto [function, user] = slot.get();
    EXPECT_EQ(overtaken, 2);
    EXPECT_EQ(function, &answers_two);
    EXPECT_EQ(user, &two);
}
#endif

// For the thread sanitizer.
TEST(CallbackSlot, AReaderAndAWriterAtOnce) {
    int one = 1;
    int two = 2;
    Slot slot;
    slot.set(answers_one, &one);
    std::atomic<bool> over{false};
    std::thread writer([&] {
        for (int round = 0; round < 200'000; ++round) {
            slot.set(answers_two, &two);
            slot.set(answers_one, &one);
        }
        over = true;
    });
    std::uint64_t torn = 0;
    while (!over) {
        const auto [function, user] = slot.get();
        if (function(user) != *static_cast<int*>(user)) ++torn;
    }
    writer.join();
    EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace cinnabar
