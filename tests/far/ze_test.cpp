// SPDX-License-Identifier: BSD-3-Clause
// Memory of a device of Level Zero, on a simulated loader that checks its calls.
#include "fake_ze.hpp"
#include "support/log_watch.hpp"
#include "support/patterns.hpp"

#include <cinnabar/bulk/device_memory.hpp>
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using bulk::device_memory;
using bulk::MemoryKind;

constexpr Rpc<std::uint64_t(Bulk)> move_it{"move_it"};
constexpr int device_lost = 0x70000001;
constexpr int device_memory_is_out = 0x70000003;

class ZeMemory {
  public:
    explicit ZeMemory(std::size_t bytes) : bytes_(bytes), address_(static_cast<std::byte*>(fake_ze_allocate(bytes))) {}
    ~ZeMemory() { fake_ze_free(address_); }
    ZeMemory(const ZeMemory&) = delete;
    ZeMemory& operator=(const ZeMemory&) = delete;
    [[nodiscard]] std::byte* address() const { return address_; }
    [[nodiscard]] std::span<std::byte> content() const { return {address_, bytes_}; }
    [[nodiscard]] Region region() const {
        return Region::of_far(device_memory(MemoryKind::level_zero, address_, bytes_).value(), Access::read_write)
            .value();
    }

  private:
    const std::size_t bytes_;
    std::byte* const address_;
};

class ZeTest : public testing::Test {
  protected:
    void TearDown() override {
        fake_ze_fail("", 0, 0);
        EXPECT_EQ(fake_ze_counts().breaches, 0u) << "of the specification";
        EXPECT_EQ(fake_ze_counts().lists, 0);
    }
    // The owner pulls what is lent into its memory, or pushes its memory there.
    [[nodiscard]] Errc move(bulk::Direction direction, const Region& mine, const Bulk& lent) {
        const Node owner = Node::listen("tcp://127.0.0.1:0").value();
        const Node user = Node::open("tcp://").value();
        const auto serve = [direction, mine](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const Region local = mine;
            auto moved = direction == bulk::Direction::pull ? request->pull(local) : request->push(local);
            co_return co_await std::move(moved);
        };
        EXPECT_TRUE(owner.serve(move_it, serve).ok());
        return user.call(move_it, user.lookup(owner.address()).value(), lent, 30s).wait().code();
    }
    support::LogWatch log_;
};

TEST_F(ZeTest, MemoryOfADeviceIsPulledIntoAndLent) {
    const ZeMemory from(5 * 1024 * 1024 + 3);
    const ZeMemory to(from.content().size());
    support::fill_pattern(from.content(), 1);
    const std::uint64_t before = fake_ze_counts().copies;
    EXPECT_EQ(move(bulk::Direction::pull, to.region(), from.region()), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(to.content(), 1));
    support::fill_pattern(to.content(), 2);
    EXPECT_EQ(move(bulk::Direction::push, to.region(), from.region()), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(from.content(), 2));
    EXPECT_GE(fake_ze_counts().copies - before, 4 * 6u);
}

TEST_F(ZeTest, AFailingDriverCallEndsTheTransferAndLeaksNothing) {
    log_.allow("a copy to the memory of a device failed: Level Zero: 0x70000001");
    const ZeMemory to(4 * 1024 * 1024);
    std::vector<std::byte> lent(to.content().size());
    std::uint64_t seed = 0;
    for (const char* name : {"zeCommandListCreateImmediate", "zeCommandListAppendMemoryCopy"}) {
        for (const int after : {0, 1, 3}) {
            support::fill_pattern(lent, ++seed);
            const Region mine = to.region();
            fake_ze_fail(name, after, device_lost);
            const Node node = Node::open("tcp://").value();
            const Errc ended = move(bulk::Direction::pull, mine, node.expose(std::span(lent)).value());
            fake_ze_fail("", 0, 0);
            EXPECT_TRUE(ended == Errc::io || (ended == Errc::ok && after > 0)) << name << " after " << after;
            if (ended == Errc::ok) {
                EXPECT_TRUE(support::holds_pattern(to.content(), seed)) << name << " after " << after;
            }
        }
    }
    EXPECT_GT(log_.allowed(), 0u);
}

TEST_F(ZeTest, OutOfMemoryHasItsOwnCode) {
    log_.allow("0x70000003");
    const ZeMemory to(1024 * 1024);
    std::vector<std::byte> lent(to.content().size());
    const Region mine = to.region();
    const Node node = Node::open("tcp://").value();
    fake_ze_fail("zeCommandListAppendMemoryCopy", 0, device_memory_is_out);
    EXPECT_EQ(move(bulk::Direction::pull, mine, node.expose(std::span(lent)).value()), Errc::out_of_memory);
}

TEST_F(ZeTest, WhatTheDriverDoesNotDescribeIsRefused) {
    const ZeMemory memory(1000);
    std::byte host{};
    const auto code_of = [](void* address, std::uint64_t bytes) {
        return device_memory(MemoryKind::level_zero, address, bytes).code();
    };
    EXPECT_EQ(code_of(&host, 1), Errc::invalid_argument);
    EXPECT_EQ(code_of(nullptr, 1), Errc::invalid_argument);
    EXPECT_EQ(code_of(memory.address(), 1001), Errc::invalid_argument);
    EXPECT_EQ(code_of(memory.address() + 900, 101), Errc::invalid_argument);
    EXPECT_EQ(code_of(memory.address() + 900, 100), Errc::ok);
    for (const char* name : {"zeMemGetAddressRange", "zeDeviceGetCommandQueueGroupProperties"}) {
        fake_ze_fail(name, 0, device_lost);
        const auto refused = device_memory(MemoryKind::level_zero, memory.address(), 1000);
        EXPECT_EQ(refused.code(), Errc::io) << name;
        EXPECT_NE(refused.error().message().find("0x70000001"), std::string::npos) << refused.error().message();
    }
}

}  // namespace
}  // namespace cinnabar
