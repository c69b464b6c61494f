// SPDX-License-Identifier: BSD-3-Clause
// The counters that the other tests of this folder rely on do count.
#include "support/allocation_count.hpp"
#include "support/system_calls.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace cinnabar::support {
namespace {

TEST(AllocationCount, SeesNewMallocAndTheLibrarysOwn) {
    const auto before = allocations();
    auto one = std::make_unique<int>(1);
    EXPECT_EQ(allocations(), before + 1);
    void* volatile two = std::malloc(10);
    EXPECT_EQ(allocations(), before + 2);
    std::free(two);
    struct alignas(128) Wide {
        char bytes[128];
    };
    auto three = std::make_unique<Wide>();
    EXPECT_EQ(allocations(), before + 3);
    std::string four(100, 'x');
    EXPECT_EQ(allocations(), before + 4);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(three.get()) % 128, 0u);
}

TEST(AllocationCount, StandsStillWhereNothingIsAllocated) {
    int sum = 0;
    const auto before = allocations();
    for (int i = 0; i < 1000; ++i) sum += i;
    EXPECT_EQ(allocations(), before);
    EXPECT_EQ(sum, 499500);
}

TEST(SystemCalls, CountsEachOnce) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const auto before = system_calls();
    char byte = 'x';
    ASSERT_EQ(write(ends[1], &byte, 1), 1);
    EXPECT_EQ(system_calls(), before + 1);
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
    EXPECT_EQ(system_calls(), before + 2);
    EXPECT_NE(system_calls_by_name().find("read "), std::string::npos);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace cinnabar::support
