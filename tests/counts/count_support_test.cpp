// SPDX-License-Identifier: BSD-3-Clause
// The counters on which the other tests of this folder rely do count.
#include "support/allocation_count.hpp"
#include "support/system_calls.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

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

TEST(SystemCalls, TellsThreadsApart) {
    const auto before = thread_system_calls();
    const auto all = system_calls();
    std::thread{[] {
        char byte = 0;
        EXPECT_EQ(read(-1, &byte, 1), -1);
        EXPECT_EQ(thread_system_calls(), 1u);
    }}.join();
    EXPECT_EQ(thread_system_calls(), before);
    EXPECT_EQ(system_calls(), all + 1);
}

TEST(SystemCalls, AddsUpTheBytesOfSockets) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const auto before = socket_traffic();
    char bytes[10] = {};
    ASSERT_EQ(send(ends[0], bytes, 10, 0), 10);
    ASSERT_EQ(recv(ends[1], bytes, 4, 0), 4);
    ASSERT_EQ(recv(ends[1], bytes, 10, 0), 6);
    EXPECT_EQ(recv(ends[1], bytes, 10, MSG_DONTWAIT), -1);
    EXPECT_EQ(socket_traffic().bytes_sent, before.bytes_sent + 10);
    EXPECT_EQ(socket_traffic().bytes_received, before.bytes_received + 10);
    EXPECT_EQ(socket_traffic().sends, before.sends + 1);
    EXPECT_EQ(socket_traffic().receives, before.receives + 2);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace cinnabar::support
