// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/buffers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cinnabar::hl {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class BuffersOfANode : public testing::Test {
  protected:
    [[nodiscard]] static na::Addr peer(const char* name) { return na::Addr::parse(name).value(); }
    Buffers buffers_{8 * mib};
};

TEST_F(BuffersOfANode, ALargeBufferThatCameBackIsRoomForSmallOnes) {
    (void)buffers_.take(8 * mib).value();
    std::vector<Buffer> small;
    for (int i = 0; i < 2048; ++i) small.push_back(buffers_.take(4096).value());
    EXPECT_EQ(buffers_.take(1).code(), Errc::overloaded);
    small.clear();
    EXPECT_TRUE(buffers_.take(8 * mib).ok());
}

TEST_F(BuffersOfANode, WhatIsInUseStaysWhereItIs) {
    Buffer kept = buffers_.take(4096).value();
    std::ranges::fill(kept.bytes(), std::byte{7});
    (void)buffers_.take(4 * mib).value();
    (void)buffers_.take(2 * mib).value();
    EXPECT_EQ(buffers_.take(8 * mib).code(), Errc::overloaded) << "no room beside the one that is kept";
    EXPECT_TRUE(buffers_.take(4 * mib).ok());
    EXPECT_TRUE(std::ranges::all_of(kept.bytes(), [](std::byte byte) { return byte == std::byte{7}; }));
}

TEST_F(BuffersOfANode, OnePeerHoldsNoMoreThanItLeavesFree) {
    const na::Addr greedy = peer("tcp://127.0.0.1:1");
    const na::Addr modest = peer("tcp://127.0.0.1:2");
    EXPECT_EQ(buffers_.take(5 * mib, greedy).code(), Errc::overloaded) << "rounded up to a power of two";
    std::vector<Buffer> held;
    while (auto next = buffers_.take(mib, greedy)) held.push_back(*std::move(next));
    EXPECT_EQ(held.size(), 4u);
    EXPECT_TRUE(buffers_.take(2 * mib, modest).ok());
    EXPECT_TRUE(buffers_.take(4 * mib).ok()) << "what no peer asks for may be all of it";
    held.pop_back();
    EXPECT_TRUE(buffers_.take(mib, greedy).ok());
}

TEST_F(BuffersOfANode, OnePeerKeepsNoMoreFromOthersThanItLeavesFree) {
    const na::Addr greedy = peer("tcp://127.0.0.1:1");
    std::vector<Buffer> kept;
    for (std::size_t size = mib / 16; size <= mib / 2; size *= 2) {
        std::vector<Buffer> taken;
        while (auto next = buffers_.take(size, greedy)) taken.push_back(*std::move(next));
        // One of each slab, which cannot be freed therefore.
        for (std::size_t i = 0; i < taken.size(); i += mib / size) kept.push_back(std::move(taken[i]));
    }
    EXPECT_GE(kept.size(), 4u);
    const na::Addr modest = peer("tcp://127.0.0.1:2");
    Buffer own = buffers_.take(2 * mib, modest).value();
    EXPECT_TRUE(buffers_.take(2 * mib).ok());
}

TEST_F(BuffersOfANode, PeersThatHoldBuffersOfOneSlabBearEqualPartsOfIt) {
    const na::Addr peers[] = {peer("tcp://127.0.0.1:1"), peer("tcp://127.0.0.1:2")};
    constexpr std::size_t size = mib / 16;
    std::vector<Buffer> held;
    std::size_t before = 0;
    do {
        before = held.size();
        for (const na::Addr& each : peers) {
            if (auto next = buffers_.take(size, each)) held.push_back(*std::move(next));
        }
    } while (held.size() != before);
    EXPECT_GE(held.size() * size, 5 * mib) << "two thirds, as if each had slabs of its own";
    held.clear();
    EXPECT_TRUE(buffers_.take(4 * mib, peers[0]).ok());
}

TEST_F(BuffersOfANode, APeerMayHaveItsShareAgainAfterAThousandOthers) {
    for (int i = 1; i <= 1000; ++i) {
        const na::Addr each = na::Addr::make({"tcp://127.0.0.1:" + std::to_string(i)}, 0, 0);
        EXPECT_TRUE(buffers_.take(4 * mib, each).ok()) << i;
    }
    EXPECT_TRUE(buffers_.take(4 * mib, peer("tcp://127.0.0.1:1")).ok());
}

TEST(Buffers, ABufferOutlivesThem) {
    auto buffers = std::make_unique<Buffers>(mib);
    Buffer kept = buffers->take(4096, na::Addr::parse("tcp://127.0.0.1:1").value()).value();
    buffers.reset();
    std::ranges::fill(kept.bytes(), std::byte{7});
    kept = Buffer();
}

}  // namespace
}  // namespace cinnabar::hl
