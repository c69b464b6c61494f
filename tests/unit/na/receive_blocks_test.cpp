// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/receive_blocks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cinnabar::na {
namespace {

constexpr std::size_t frame_max = 16 * 1024 + 16;

TEST(ReceiveBlocks, TheSameMemoryAgainWhileNobodyKeepsAny) {
    ReceiveBlocks blocks(frame_max, 8);
    const std::byte* first = blocks.room().data();
    blocks.consumed(1000);
    EXPECT_EQ(blocks.room().data(), first);
}

TEST(ReceiveBlocks, KeptBytesAreNotOverwritten) {
    ReceiveBlocks blocks(frame_max, 8);
    const Bytes room = blocks.room();
    ReceiveBlock& kept = *blocks.reading();
    ++kept.references;
    blocks.consumed(1001);
    EXPECT_EQ(blocks.room().data(), room.data() + 1008) << "behind it, aligned";
    blocks.unreference(kept);
    EXPECT_EQ(blocks.room().data(), room.data());
}

TEST(ReceiveBlocks, RoomIsAlwaysAWholeFrame) {
    ReceiveBlocks blocks(frame_max, 64);
    std::vector<ReceiveBlock*> kept;
    for (int i = 0; i < 40; ++i) {
        const Bytes room = blocks.room();
        ASSERT_GE(room.size(), frame_max);
        ++blocks.reading()->references;
        kept.push_back(blocks.reading());
        blocks.consumed(frame_max);
    }
    EXPECT_FALSE(blocks.crowded());
    for (ReceiveBlock* block : kept) blocks.unreference(*block);
}

TEST(ReceiveBlocks, ManyHeldBlocksAreCrowded) {
    ReceiveBlocks blocks(frame_max, 64);
    std::vector<ReceiveBlock*> kept;
    while (!blocks.crowded()) {
        (void)blocks.room();
        ++blocks.reading()->references;
        kept.push_back(blocks.reading());
        blocks.consumed(60 * 1024);
        ASSERT_LT(kept.size(), 100u);
    }
    for (ReceiveBlock* block : kept) blocks.unreference(*block);
    EXPECT_FALSE(blocks.crowded());
}

TEST(ReceiveBlocks, KeptArrivalsHaveANumber) {
    ReceiveBlocks blocks(frame_max, 2);
    EXPECT_TRUE(blocks.count_kept());
    EXPECT_TRUE(blocks.count_kept());
    EXPECT_FALSE(blocks.count_kept());
    blocks.count_released();
    EXPECT_TRUE(blocks.count_kept());
    blocks.count_released();
    blocks.count_released();
}

TEST(ReceiveBlocks, MoreMayBeKeptLater) {
    ReceiveBlocks blocks(frame_max, 1);
    EXPECT_FALSE(blocks.full());
    EXPECT_TRUE(blocks.count_kept());
    EXPECT_TRUE(blocks.full());
    blocks.allow(2);
    EXPECT_TRUE(blocks.count_kept());
    blocks.allow(1);
    EXPECT_FALSE(blocks.count_kept());
    blocks.count_released();
    EXPECT_TRUE(blocks.count_kept()) << "what was allowed stays so";
    blocks.count_released();
    blocks.count_released();
}

Limits limits_of(std::uint32_t slots, std::uint32_t slots_max) {
    Limits limits;
    limits.receive_slots = slots;
    limits.receive_slots_max = slots_max;
    return limits;
}

TEST(ReceiveSlots, GrowWithTheConnections) {
    const Limits limits = limits_of(1024, 16'384);
    EXPECT_EQ(receive_slots_for(limits, 0), 1024u);
    EXPECT_EQ(receive_slots_for(limits, 4), 1024u);
    EXPECT_EQ(receive_slots_for(limits, 5), 1040u);
    EXPECT_EQ(receive_slots_for(limits, 904), 15'424u);
    EXPECT_EQ(receive_slots_for(limits, 16'384), 16'384u);
    EXPECT_EQ(receive_slots_for(limits, 0xffff'ffff), 16'384u);
    EXPECT_EQ(receive_slots_for(limits_of(16, 128), 4), 16u) << "a few add nothing";
    EXPECT_EQ(receive_slots_for(limits_of(16, 128), 5), 20u);
}

TEST(ReceiveSlots, DoNotGrowWhereBuffersArePosted) {
    EXPECT_EQ(receive_slots_for(limits_of(1024, 0), 16'384), 1024u);
    EXPECT_EQ(receive_slots_for(limits_of(1024, 1024), 16'384), 1024u);
    EXPECT_EQ(receive_slots_for(limits_of(0xffff'ffff, 0xffff'ffff), 16'384), 0xffff'ffffu);
}

TEST(ReceiveBlocks, OneMessageGetsABlockThatFits) {
    ReceiveBlocks blocks(frame_max, 8);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{256}, std::size_t{257}, std::size_t{5000}, frame_max}) {
        ReceiveBlock* block = blocks.take(bytes);
        ASSERT_NE(block, nullptr);
        std::fill_n(block->bytes(), bytes, std::byte{1});  // a sanitizer notices a block that is too small
        EXPECT_FALSE(blocks.shared(*block));
        blocks.unreference(*block);
    }
}

}  // namespace
}  // namespace cinnabar::na
