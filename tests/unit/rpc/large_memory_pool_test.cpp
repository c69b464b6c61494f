// SPDX-License-Identifier: BSD-3-Clause
// Memory for large arguments and results is pooled, bounded, and never reused while a peer may still access it.
#include "large_memory_pool.hpp"

#include "../bulk/fake_transport.hpp"

#include <cinnabar/bulk/lend.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint64_t mib = 1u << 20;

std::byte* at(const bulk::Region& region) { return region.contiguous().data(); }

TEST(LargeMemoryPool, GivesTheSameMemoryAgain) {
    LargeMemoryPool pool(8 * mib);
    bulk::Region first = pool.take(mib + 3).value();
    EXPECT_EQ(first.bytes(), mib + 3);
    std::byte* const memory = at(first);
    pool.give(std::move(first));
    EXPECT_GE(pool.bytes(), mib + 3);
    const bulk::Region second = pool.take(mib + 5).value();
    EXPECT_EQ(at(second), memory);
    EXPECT_EQ(second.bytes(), mib + 5);
    EXPECT_EQ(pool.bytes(), 0u);
    EXPECT_NE(at(pool.take(mib + 5).value()), memory) << "it has a holder";
}

TEST(LargeMemoryPool, WastesASixteenthAtMost) {
    LargeMemoryPool pool(64 * mib);
    for (std::uint64_t bytes = 1; bytes < 20 * mib; bytes = bytes * 5 / 4 + 1) {
        bulk::Region region = pool.take(bytes).value();
        ASSERT_EQ(region.bytes(), bytes);
        EXPECT_LE(region.whole().bytes(), bytes + bytes / 16 + 4096);
        pool.give(std::move(region));
        EXPECT_LT(pool.take(2 * bytes).value().whole().bytes(), 3 * bytes + 4096) << "another size";
        EXPECT_GE(pool.take(4 * bytes).value().bytes(), 4 * bytes);
    }
}

TEST(LargeMemoryPool, KeepsNoMoreThanItMayAndTheLatest) {
    LargeMemoryPool pool(4 * mib);
    std::deque<bulk::Region> out;
    for (int i = 0; i < 6; ++i) out.push_back(pool.take(mib).value());
    std::byte* const last = at(out.back());
    while (!out.empty()) {
        pool.give(std::move(out.front()));
        out.pop_front();
        EXPECT_LE(pool.bytes(), 4 * mib);
    }
    EXPECT_EQ(pool.bytes(), 4 * mib);
    EXPECT_EQ(at(pool.take(mib).value()), last);
    pool.give(pool.take(5 * mib).value());
    EXPECT_EQ(pool.bytes(), 3 * mib) << "what is too large for it makes no room for itself";
}

TEST(LargeMemoryPool, KeepsALimitedNumberOfRegions) {
    constexpr std::size_t regions_max = 64;
    LargeMemoryPool pool(8 * mib);
    std::deque<bulk::Region> out;
    for (std::size_t i = 0; i < 2 * regions_max; ++i) out.push_back(pool.take(4096).value());
    for (bulk::Region& region : out) pool.give(std::move(region));
    EXPECT_EQ(pool.bytes(), regions_max * 4096);
}

TEST(LargeMemoryPool, KeepsNothingOnceItIsClosed) {
    auto transport = std::make_shared<bulk::FakeTransport>();
    LargeMemoryPool pool(8 * mib);
    bulk::Region late = pool.take(mib).value();
    bulk::Region region = pool.take(mib).value();
    ASSERT_TRUE(region.memory_on(transport).ok());
    pool.give(std::move(region));
    EXPECT_GT(transport.use_count(), 1);
    pool.close();
    EXPECT_EQ(transport.use_count(), 1) << "its registration is there still";
    pool.give(std::move(late));
    EXPECT_EQ(pool.bytes(), 0u);
    EXPECT_TRUE(pool.take(mib).ok());
}

TEST(LargeMemoryPool, KeepsNothingThatAPeerMayStillAccess) {
    auto transport = std::make_shared<bulk::FakeTransport>();
    transport->fences_late = true;
    LargeMemoryPool pool(8 * mib);
    bulk::Lend lend;
    lend.fenced.run = [](WorkItem&) noexcept {};
    bulk::Region lent = pool.take(mib).value();
    ASSERT_EQ(lend.grant(lent.slice(0, 100), na::Access::read, transport), Errc::ok);
    ASSERT_EQ(lend.revoke(), Errc::again);
    transport->fence_done(true);
    pool.give(std::move(lent));
    EXPECT_EQ(pool.bytes(), 0u);
    lend.forget();
}

TEST(LargeMemoryPool, ReportsThatMemoryIsOut) {
    LargeMemoryPool pool(8 * mib);
    EXPECT_EQ(pool.take(SIZE_MAX / 2).code(), Errc::out_of_memory);
}

}  // namespace
}  // namespace cinnabar::rpc
