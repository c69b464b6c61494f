// SPDX-License-Identifier: BSD-3-Clause
// The planner: every byte once and in order, no chunk over a limit, and as few chunks as the limits allow.
#include "plan.hpp"

#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cinnabar::bulk {
namespace {

using Ends = std::vector<std::uint64_t>;

Ends ends_of(const std::vector<std::uint64_t>& sizes) {
    Ends ends(sizes.size());
    std::partial_sum(sizes.begin(), sizes.end(), ends.begin());
    return ends;
}

std::vector<Chunk> all_of(Planner planner) {
    std::vector<Chunk> chunks;
    Chunk chunk;
    while (planner.next(chunk)) chunks.push_back(chunk);
    EXPECT_EQ(planner.left(), 0u);
    return chunks;
}

std::vector<std::uint64_t> sizes_of(const std::vector<Chunk>& chunks) {
    std::vector<std::uint64_t> sizes;
    for (const Chunk& chunk : chunks) sizes.push_back(chunk.bytes);
    return sizes;
}

PlanLimits limits(std::uint64_t chunk_bytes, std::size_t segments, bool remote_unbroken = true) {
    PlanLimits cut;
    cut.chunk_bytes = chunk_bytes;
    cut.local_segments_max = segments;
    cut.remote_unbroken = remote_unbroken;
    return cut;
}

std::size_t segments_touched(const Ends& ends, std::uint64_t offset, std::uint64_t bytes) {
    if (ends.empty()) return 1;
    const auto at = [&](std::uint64_t o) { return std::upper_bound(ends.begin(), ends.end(), o) - ends.begin(); };
    return static_cast<std::size_t>(at(offset + bytes - 1) - at(offset) + 1);
}

TEST(Plan, NothingIsNoChunk) { EXPECT_TRUE(all_of(Planner({}, {}, 0, limits(10, 1))).empty()); }

TEST(Plan, AnUnbrokenRangeIsCutBySizeAlone) {
    const auto chunks = all_of(Planner({{}, 7}, {{}, 100}, 25, limits(10, 1)));
    EXPECT_EQ(sizes_of(chunks), (std::vector<std::uint64_t>{10, 10, 5}));
    EXPECT_EQ(chunks[1].local_offset, 17u);
    EXPECT_EQ(chunks[1].remote_offset, 110u);
}

TEST(Plan, NeighboursShareAChunk) {
    const Ends local = ends_of({4, 4, 4, 4});
    EXPECT_EQ(sizes_of(all_of(Planner({local, 0}, {}, 16, limits(100, 4)))), (std::vector<std::uint64_t>{16}));
}

TEST(Plan, AChunkTouchesNoMoreLocalSegmentsThanAnOperationMay) {
    const Ends local = ends_of({4, 4, 4, 4, 4});
    EXPECT_EQ(sizes_of(all_of(Planner({local, 2}, {}, 17, limits(100, 2)))), (std::vector<std::uint64_t>{6, 8, 3}));
}

TEST(Plan, RemoteBordersMatterOnlyWhereTheOwnerCannotResolveOffsets) {
    const Ends remote = ends_of({5, 10, 5});
    EXPECT_EQ(sizes_of(all_of(Planner({}, {remote, 1}, 18, limits(100, 1, true)))), (std::vector<std::uint64_t>{18}));
    EXPECT_EQ(sizes_of(all_of(Planner({}, {remote, 1}, 18, limits(100, 1, false)))),
              (std::vector<std::uint64_t>{4, 10, 4}));
}

TEST(Plan, AWindowMayStartOnABorder) {
    const Ends local = ends_of({5, 5, 5});
    const Ends remote = ends_of({3, 12});
    EXPECT_EQ(sizes_of(all_of(Planner({local, 5}, {remote, 3}, 10, limits(100, 1, false)))),
              (std::vector<std::uint64_t>{5, 5}));
}

TEST(Plan, RunsOfVerySmallSegmentsAreStaged) {
    const Ends local = ends_of(std::vector<std::uint64_t>(100, 16));
    PlanLimits cut = limits(1000, 4);
    cut.staging_bytes = 600;
    cut.staging_segment_bytes = 64;
    const auto chunks = all_of(Planner({local, 0}, {}, 1600, cut));
    EXPECT_EQ(sizes_of(chunks), (std::vector<std::uint64_t>{600, 600, 400}));
    for (const Chunk& chunk : chunks) EXPECT_TRUE(chunk.staged);
}

TEST(Plan, WhatAnOperationReachesByItselfIsNotStaged) {
    const Ends local = ends_of({16, 16, 16, 16});
    PlanLimits cut = limits(1000, 4);
    cut.staging_bytes = 600;
    cut.staging_segment_bytes = 64;
    const auto chunks = all_of(Planner({local, 0}, {}, 64, cut));
    ASSERT_EQ(chunks.size(), 1u);
    EXPECT_FALSE(chunks[0].staged);
}

TEST(Plan, LargeSegmentsAreNeverStaged) {
    const Ends local = ends_of({16, 16, 16, 500, 16, 16, 16});
    PlanLimits cut = limits(1000, 2);
    cut.staging_bytes = 600;
    cut.staging_segment_bytes = 64;
    for (const Chunk& chunk : all_of(Planner({local, 0}, {}, 596, cut))) {
        const bool touches_large = chunk.local_offset < 548 && chunk.local_offset + chunk.bytes > 48;
        EXPECT_FALSE(chunk.staged && touches_large) << chunk.local_offset << " " << chunk.bytes;
    }
}

std::vector<std::uint64_t> random_pieces(Random& random) {
    std::vector<std::uint64_t> sizes(1 + random.below(40));
    for (std::uint64_t& size : sizes) size = 1 + random.below(random.chance(4) ? 2000 : 60);
    return sizes;
}

TEST(Plan, AnySidesAndLimits) {
    test::for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        const Ends local = random.chance(4) ? Ends() : ends_of(random_pieces(random));
        const Ends remote = random.chance(4) ? Ends() : ends_of(random_pieces(random));
        const std::uint64_t local_bytes = local.empty() ? 10'000 : local.back();
        const std::uint64_t remote_bytes = remote.empty() ? 10'000 : remote.back();
        const std::uint64_t bytes = 1 + random.below(std::min(local_bytes, remote_bytes));
        const PlanSide here{local, random.below(local_bytes - bytes + 1)};
        const PlanSide there{remote, random.below(remote_bytes - bytes + 1)};
        PlanLimits cut = limits(1 + random.below(3000), 1 + random.below(6), random.chance(2));
        if (random.chance(2)) cut.staging_bytes = 1 + random.below(500);
        cut.staging_segment_bytes = random.below(64);

        std::uint64_t done = 0;
        for (const Chunk& chunk : all_of(Planner(here, there, bytes, cut))) {
            ASSERT_GT(chunk.bytes, 0u);
            ASSERT_LE(chunk.bytes, cut.chunk_bytes);
            ASSERT_EQ(chunk.local_offset, here.offset + done);
            ASSERT_EQ(chunk.remote_offset, there.offset + done);
            if (chunk.staged) {
                ASSERT_LE(chunk.bytes, cut.staging_bytes);
                ASSERT_GT(segments_touched(local, chunk.local_offset, chunk.bytes), cut.local_segments_max)
                    << "staged for nothing";
            } else {
                ASSERT_LE(segments_touched(local, chunk.local_offset, chunk.bytes), cut.local_segments_max);
            }
            if (!cut.remote_unbroken) {
                ASSERT_EQ(segments_touched(remote, chunk.remote_offset, chunk.bytes), 1u);
            }
            done += chunk.bytes;
            // The chunk is as large as the limits allow: another byte would exceed one of them.
            if (done == bytes || chunk.staged || chunk.bytes == cut.chunk_bytes) continue;
            const bool more_local =
                segments_touched(local, chunk.local_offset, chunk.bytes + 1) > cut.local_segments_max;
            const bool more_remote =
                !cut.remote_unbroken && segments_touched(remote, chunk.remote_offset, chunk.bytes + 1) > 1;
            ASSERT_TRUE(more_local || more_remote);
        }
        ASSERT_EQ(done, bytes);
    });
}

TEST(Plan, RemoteBlocksAreReachedWhereTheyAre) {
    const Blocks blocks = Blocks::indexed(10, std::vector<std::uint32_t>{7, 3, 4, 0}).value();
    std::vector<std::uint64_t> remote;
    const auto chunks = all_of(Planner({}, {{}, 0, &blocks}, 40, limits(15, 1)));
    for (const Chunk& chunk : chunks) remote.push_back(chunk.remote_offset);
    EXPECT_EQ(sizes_of(chunks), (std::vector<std::uint64_t>{10, 15, 5, 10}));
    EXPECT_EQ(remote, (std::vector<std::uint64_t>{70, 30, 45, 0}));
}

TEST(Plan, AnyBlocksAndLimits) {
    test::for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        const Ends remote = ends_of(random_pieces(random));
        const std::uint64_t block = 1 + random.below(remote.back());
        std::vector<std::uint32_t> numbers(1 + random.below(30));
        for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random.below(remote.back() / block));
        const Blocks blocks = Blocks::indexed(block, numbers).value();
        const Ends local = random.chance(2) ? Ends() : ends_of({blocks.bytes() / 2 + 1, blocks.bytes()});
        const PlanLimits cut = limits(1 + random.below(300), 1 + random.below(2), random.chance(2));
        std::uint64_t done = 0;
        for (const Chunk& chunk : all_of(Planner({local, 0}, {remote, 0, &blocks}, blocks.bytes(), cut))) {
            ASSERT_EQ(chunk.local_offset, done);
            for (std::uint64_t i = 0; i < chunk.bytes; ++i, ++done)
                ASSERT_EQ(chunk.remote_offset + i, numbers[done / block] * block + done % block);
            ASSERT_LE(chunk.bytes, cut.chunk_bytes);
            if (!cut.remote_unbroken) {
                ASSERT_EQ(segments_touched(remote, chunk.remote_offset, chunk.bytes), 1u);
            }
        }
        ASSERT_EQ(done, blocks.bytes());
    });
}

}  // namespace
}  // namespace cinnabar::bulk
