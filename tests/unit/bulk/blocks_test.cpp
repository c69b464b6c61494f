// SPDX-License-Identifier: BSD-3-Clause
// Lists of blocks: their meaning, their encoding, invalid lists, and regions made of blocks.
#include "fake_transport.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/bulk/blocks.hpp>
#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace cinnabar::bulk {
namespace {

using Encoded = std::vector<std::byte>;
using Numbers = std::vector<std::uint32_t>;

Encoded encode(const Blocks& blocks) {
    Encoded bytes(blocks.encoded_bytes());
    ByteWriter writer(bytes);
    blocks.encode(writer);
    EXPECT_TRUE(writer.ok());
    EXPECT_EQ(writer.left(), 0u);
    return bytes;
}

Errc decode(ConstBytes bytes, Blocks& out) {
    ByteReader reader(bytes);
    return Blocks::decode(reader, out);
}

Errc decode(std::initializer_list<unsigned> bytes) {
    Encoded made;
    for (const unsigned byte : bytes) made.push_back(static_cast<std::byte>(byte));
    Blocks blocks;
    const Errc code = decode(made, blocks);
    EXPECT_EQ(code != Errc::ok, blocks.empty());
    return code;
}

std::vector<std::uint64_t> offsets_of(const Blocks& blocks) {
    std::vector<std::uint64_t> offsets;
    BlockWalk walk(blocks);
    BlockPiece piece;
    while (walk.next(blocks.block_bytes(), piece)) {
        EXPECT_EQ(piece.bytes, blocks.block_bytes());
        offsets.push_back(piece.offset);
    }
    return offsets;
}

TEST(Blocks, AStridedListIsAFewBytes) {
    const Blocks blocks = Blocks::strided(64, 4096, 65'536, 15'000).value();
    EXPECT_EQ(blocks.bytes(), 15'000u * 4096);
    EXPECT_EQ(blocks.end(), 64u + 14'999u * 65'536 + 4096);
    EXPECT_FALSE(blocks.overlap());
    EXPECT_LE(blocks.encoded_bytes(), 14u);
    const std::vector<std::uint64_t> offsets = offsets_of(blocks);
    ASSERT_EQ(offsets.size(), 15'000u);
    EXPECT_EQ(offsets[0], 64u);
    EXPECT_EQ(offsets[14'999], 64u + 14'999u * 65'536);
}

// Pages in a memory of 4 GiB.
TEST(Blocks, RandomBlocksAreUnderFourBytesEach) {
    Random random(1);
    Numbers numbers(15'000);
    for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random.below(1 << 20));
    EXPECT_LT(Blocks::indexed(4096, numbers).value().encoded_bytes(), 4 * numbers.size());
    std::sort(numbers.begin(), numbers.end());
    EXPECT_LT(Blocks::indexed(4096, numbers).value().encoded_bytes(), 2 * numbers.size());
}

// The example of docs/wire-format-bulk.md.
TEST(Blocks, AreEncodedAsTheDocumentSays) {
    const Blocks blocks = Blocks::indexed(4096, Numbers{7, 8, 9, 300, 2}).value();
    const Encoded wanted = [] {
        Encoded bytes;
        for (const unsigned b : {1, 0, 0x80, 0x20, 0x80, 0x20, 5, 14, 0, 1, 0xc4, 0x04, 0xd5, 0x04})
            bytes.push_back(static_cast<std::byte>(b));
        return bytes;
    }();
    EXPECT_EQ(encode(blocks), wanted);
}

TEST(Blocks, BlocksSideBySideAreOnePiece) {
    const Blocks blocks = Blocks::indexed(10, Numbers{3, 4, 5, 1}, 100).value();
    BlockWalk walk(blocks);
    BlockPiece piece;
    ASSERT_TRUE(walk.next(1000, piece));
    EXPECT_EQ(piece.offset, 130u);
    EXPECT_EQ(piece.bytes, 30u);
    ASSERT_TRUE(walk.next(4, piece));
    EXPECT_EQ(piece.offset, 110u);
    EXPECT_EQ(piece.bytes, 4u);
    ASSERT_TRUE(walk.next(1000, piece));
    EXPECT_EQ(piece.offset, 114u);
    EXPECT_EQ(piece.bytes, 6u);
    EXPECT_FALSE(walk.next(1000, piece));
}

TEST(Blocks, OverlapIsDetected) {
    EXPECT_TRUE(Blocks::strided(0, 10, 9, 2).value().overlap());
    EXPECT_TRUE(Blocks::strided(0, 10, 0, 2).value().overlap());
    EXPECT_FALSE(Blocks::strided(0, 10, 9, 1).value().overlap());
    EXPECT_FALSE(Blocks::strided(0, 10, 10, 5).value().overlap());
    EXPECT_FALSE(Blocks::indexed(10, Numbers{5, 3, 4, 9}).value().overlap());
    EXPECT_TRUE(Blocks::indexed(10, Numbers{5, 3, 4, 5}).value().overlap());
    EXPECT_TRUE(Blocks::indexed(10, Numbers{5, 6, 7, 4, 5}).value().overlap());
    // Blocks wider than the step, with numbers far enough apart.
    EXPECT_FALSE(Blocks::indexed(10, Numbers{4, 0, 2}, 0, 5).value().overlap());
    EXPECT_TRUE(Blocks::indexed(10, Numbers{4, 0, 3}, 0, 5).value().overlap());
}

TEST(Blocks, InvalidListsAreRefused) {
    constexpr std::uint64_t much = ~std::uint64_t{0};
    EXPECT_EQ(Blocks::strided(0, 10, 10, 0).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(0, 0, 10, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::indexed(10, {}).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(0, 1, 1, blocks_max + 1).code(), Errc::too_large);
    EXPECT_EQ(Blocks::strided(0, 1, much, 2).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(0, 1, much / 2, 3).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(much, 1, 1, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(much / 2 - 10, 10, 1, 1).value().end(), much / 2);
    EXPECT_EQ(Blocks::strided(much / 2 - 9, 10, 1, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(0, much / 2, 0, 3).code(), Errc::invalid_argument) << "the sum of their bytes wraps";
    EXPECT_EQ(Blocks::strided(0, 10, 10, 2).value().shifted(much).code(), Errc::invalid_argument);
    EXPECT_EQ(Blocks::strided(0, 10, 10, 2).value().shifted(5).value().end(), 25u);
}

TEST(Blocks, MalformedListsAreRefused) {
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 0, 1}), Errc::ok);
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 2, 6}), Errc::ok);
    EXPECT_EQ(decode({}), Errc::protocol);
    EXPECT_EQ(decode({2, 0, 10, 10, 2, 0, 1}), Errc::protocol) << "another version";
    EXPECT_EQ(decode({1, 0, 10, 10, 0}), Errc::protocol) << "no blocks";
    EXPECT_EQ(decode({1, 0, 0, 10, 2, 0, 1}), Errc::protocol) << "of no bytes";
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 0}), Errc::protocol) << "cut";
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 0, 2}), Errc::protocol) << "a run of more than all";
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 0, 0}), Errc::protocol) << "fewer than it says";
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 0, 1, 0}), Errc::protocol) << "something behind it";
    EXPECT_EQ(decode({1, 0, 10, 10, 1, 1}), Errc::protocol) << "before the first";
    EXPECT_EQ(decode({1, 0, 10, 10, 1, 0x80, 0x00}), Errc::protocol) << "zeros that say nothing";
    EXPECT_EQ(decode({1, 0, 10, 10, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), Errc::protocol);
    EXPECT_EQ(decode({1, 0, 10, 10, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03}), Errc::protocol);
    EXPECT_EQ(decode({1, 0, 10, 10, 1, 0xfe, 0xff, 0xff, 0xff, 0x1f}), Errc::ok) << "the last number there is";
    EXPECT_EQ(decode({1, 0, 10, 10, 1, 0x80, 0x80, 0x80, 0x80, 0x20}), Errc::protocol) << "the one after it";
    EXPECT_EQ(decode({1, 0, 10, 10, 2, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0, 0}), Errc::protocol) << "a run beyond it";
    EXPECT_EQ(decode({1, 0, 1, 1, 0x80, 0x80, 0x40, 0, 0xff, 0xff, 0x3f}), Errc::ok) << "as many as there may be";
    EXPECT_EQ(decode({1, 0, 1, 1, 0x81, 0x80, 0x40, 0, 0x80, 0x80, 0x40}), Errc::protocol) << "counts that explode";
    EXPECT_EQ(decode({1, 0, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 3, 0, 2}), Errc::protocol)
        << "an end that wraps";
}

// Otherwise each byte of a long hostile list would take memory for a run.
TEST(Blocks, RunsThatFollowEachOtherAreOneInMemory) {
    Encoded bytes;
    for (const unsigned b : {1u, 0u, 1u, 1u, 3u, 0u, 0u, 0u, 0u, 0u, 0u}) bytes.push_back(static_cast<std::byte>(b));
    Blocks blocks;
    ASSERT_EQ(decode(bytes, blocks), Errc::ok);
    EXPECT_EQ(blocks, Blocks::strided(0, 1, 1, 3).value());
}

Blocks random_list(Random& random, std::uint64_t bytes_max) {
    const std::uint64_t block = 1 + random.below(20);
    const std::uint64_t stride = random.chance(3) ? block : 1 + random.below(40);
    const std::uint64_t offset = random.below(50);
    const std::uint64_t there = (bytes_max - offset - block) / stride + 1;
    if (random.chance(3)) return Blocks::strided(offset, block, stride, 1 + random.below(there)).value();
    Numbers numbers(1 + random.below(60));
    for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random.below(there));
    if (random.chance(2)) std::sort(numbers.begin(), numbers.end());
    return Blocks::indexed(block, numbers, offset, stride).value();
}

TEST(Blocks, AreDecodedUnchangedAndPartsMakeUpTheWhole) {
    test::for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        const Blocks list = random_list(random, 2000);
        Encoded bytes = encode(list);
        Blocks back;
        ASSERT_EQ(decode(bytes, back), Errc::ok);
        ASSERT_EQ(back, list);
        bytes.pop_back();
        ASSERT_EQ(decode(bytes, back), Errc::protocol);

        std::vector<std::uint64_t> offsets;
        BlockParts parts(list);
        Blocks part;
        for (std::uint64_t count; count = 1 + random.below(20), parts.next(count, part);) {
            ASSERT_LE(part.count(), count);
            ASSERT_LE(part.end(), list.end());
            const auto more = offsets_of(part);
            offsets.insert(offsets.end(), more.begin(), more.end());
        }
        ASSERT_EQ(offsets, offsets_of(list));
        std::vector<int> touched(list.end());
        for (const std::uint64_t offset : offsets)
            for (std::uint64_t i = 0; i < list.block_bytes(); ++i) ++touched[offset + i];
        ASSERT_EQ(list.overlap(), *std::max_element(touched.begin(), touched.end()) > 1);
        ASSERT_EQ(touched.back() > 0, true) << "end() is one beyond the last byte";
    });
}

TEST(Select, HasTheBytesOfTheBlocksInTheirOrder) {
    test::for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        std::vector<std::byte> first(700), second(1500);
        for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<std::byte>(i * 7);
        for (std::size_t i = 0; i < second.size(); ++i) second[i] = static_cast<std::byte>(i * 13 + 5);
        const na::Segment segments[] = {{first.data(), first.size()}, {second.data(), second.size()}};
        const Region all = Region::expose(segments, na::Access::read_write).value().slice(100, 2000);
        const Blocks list = random_list(random, 2000);
        const Region region = all.select(list, na::Access::read).value();
        ASSERT_EQ(region.bytes(), list.bytes());
        ASSERT_EQ(region.access(), na::Access::read);
        std::vector<std::byte> got(region.bytes()), wanted;
        region.copy_out(0, got);
        for (const std::uint64_t offset : offsets_of(list)) {
            std::vector<std::byte> block(list.block_bytes());
            all.copy_out(offset, block);
            wanted.insert(wanted.end(), block.begin(), block.end());
        }
        ASSERT_EQ(got, wanted);
        ASSERT_EQ(all.select(list, na::Access::write).ok(), !list.overlap());
    });
}

TEST(Select, WhatCannotBeSelected) {
    std::vector<std::byte> memory(200'000);
    const Region region = Region::expose(Bytes(memory), na::Access::read).value();
    EXPECT_EQ(region.select(Blocks(), na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(region.select(Blocks::strided(1, 10, 10, 20'000).value(), na::Access::read).code(),
              Errc::invalid_argument);
    EXPECT_EQ(region.slice(0, 100).select(Blocks::strided(91, 10, 10, 1).value(), na::Access::read).code(),
              Errc::invalid_argument);
    EXPECT_EQ(region.select(Blocks::strided(0, 10, 10, 2).value(), na::Access::write).code(), Errc::permission);
    EXPECT_EQ(region.select(Blocks::strided(0, 1, 2, 70'000).value(), na::Access::read).code(), Errc::too_large);
    EXPECT_EQ(region.select(Blocks::strided(0, 1, 1, 200'000).value(), na::Access::read).value().segments().size(), 1u);
}

TEST(Select, KeepsItsMemoryAndIsInQuarantineWithIt) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    Region region = Region::allocate(100'000, na::Access::read_write).value();
    const Region other = region.slice(50'000, 100);
    const Region blocks =
        region.slice(0, 1000).select(Blocks::strided(0, 10, 100, 10).value(), na::Access::write).value();
    const Region again = blocks.select(Blocks::indexed(5, Numbers{1, 19}).value(), na::Access::write).value();
    EXPECT_EQ(again.segments()[1].base, region.contiguous().data() + 905);
    Lend lend;
    ASSERT_EQ(lend.grant(again, na::Access::write, transport), Errc::ok);
    lend.fenced.run = [](WorkItem&) noexcept {};
    ASSERT_EQ(lend.revoke(), Errc::again);
    transport->fence_done(true);
    EXPECT_TRUE(lend.quarantined());
    EXPECT_TRUE(again.quarantined() && blocks.quarantined() && region.quarantined());
    EXPECT_FALSE(other.quarantined());
    lend.forget();
    EXPECT_FALSE(again.quarantined() || region.quarantined());
    region = {};
    again.copy_in(0, std::vector<std::byte>(10));  // the memory has not been freed
}

}  // namespace
}  // namespace cinnabar::bulk
