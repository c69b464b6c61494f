// SPDX-License-Identifier: BSD-3-Clause
// Memory that is exposed again is not registered again, until the program says that it goes.
#include "fake_transport.hpp"

#include <cinnabar/bulk/region_cache.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace cinnabar::bulk {
namespace {

class RegionCacheTest : public testing::Test {
  protected:
    // Exposes these bytes as a call would, and registers them.
    Region use(RegionCache& cache, std::size_t first, std::size_t bytes, na::Access access = na::Access::read) {
        Region region = cache.expose(part(first, bytes), access).value();
        EXPECT_TRUE(region.memory_on(transport_).ok());
        EXPECT_EQ(region.bytes(), bytes);
        EXPECT_EQ(region.contiguous().data(), memory_.data() + first);
        EXPECT_EQ(region.access(), access);
        return region;
    }
    [[nodiscard]] Bytes part(std::size_t first, std::size_t bytes) { return Bytes(memory_).subspan(first, bytes); }
    [[nodiscard]] int alive() const { return transport_->registrations.load(); }
    [[nodiscard]] int ever() const { return transport_->registered.load(); }

    std::vector<std::byte> memory_ = std::vector<std::byte>(10'000);
    std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
};

TEST_F(RegionCacheTest, RegistersOnce) {
    RegionCache cache;
    for (int i = 0; i < 5; ++i) (void)use(cache, 100, 1000);
    (void)use(cache, 100, 10);
    (void)use(cache, 1099, 1);
    EXPECT_EQ(ever(), 1);
    EXPECT_EQ(cache.counts().hits, 6u);
    EXPECT_EQ(cache.counts().misses, 1u);
    EXPECT_EQ(cache.counts().bytes, 1000u);
}

TEST_F(RegionCacheTest, GivesExactlyTheAccessThatIsAskedFor) {
    RegionCache cache;
    (void)use(cache, 0, 100, na::Access::read_write);
    (void)use(cache, 0, 100, na::Access::read);
    (void)use(cache, 0, 100, na::Access::write);
    (void)use(cache, 50, 50, na::Access::read);
    EXPECT_EQ(ever(), 3);
    EXPECT_EQ(cache.counts().regions, 3u);
}

TEST_F(RegionCacheTest, WhatOverlapsIsReplaced) {
    RegionCache cache;
    (void)use(cache, 0, 100);
    (void)use(cache, 100, 100);
    (void)use(cache, 300, 100);
    EXPECT_EQ(alive(), 3);
    (void)use(cache, 150, 100);
    EXPECT_EQ(alive(), 3) << "the one from 100 on is gone";
    (void)use(cache, 0, 500);
    EXPECT_EQ(alive(), 1);
    EXPECT_EQ(cache.counts().bytes, 500u);
    (void)use(cache, 0, 600);  // begins where a shorter one does
    EXPECT_EQ(alive(), 1);
    EXPECT_EQ(cache.counts().bytes, 600u);
}

TEST_F(RegionCacheTest, WhatIsForgottenIsRegisteredAnew) {
    RegionCache cache;
    (void)use(cache, 0, 100);
    (void)use(cache, 100, 100, na::Access::write);
    (void)use(cache, 200, 100);
    cache.forget(part(99, 2));
    EXPECT_EQ(alive(), 1);
    cache.forget(part(300, 100));
    cache.forget({});
    EXPECT_EQ(alive(), 1);
    (void)use(cache, 0, 100);
    EXPECT_EQ(ever(), 4);
    {
        const Region held = use(cache, 0, 100);
        cache.forget(part(0, 100));
        EXPECT_EQ(alive(), 2) << "it is valid as long as somebody has it";
    }
    EXPECT_EQ(alive(), 1);
    cache.clear();
    EXPECT_EQ(alive(), 0);
    EXPECT_EQ(cache.counts().bytes, 0u);
}

TEST_F(RegionCacheTest, KeepsTheMostRecentlyUsed) {
    RegionCache cache({.regions_max = 3, .bytes_max = 1000});
    (void)use(cache, 0, 100);
    (void)use(cache, 100, 100);
    (void)use(cache, 200, 100);
    (void)use(cache, 0, 100);
    (void)use(cache, 300, 100);  // the one from 100 on goes
    EXPECT_EQ(cache.counts().regions, 3u);
    (void)use(cache, 0, 100);
    EXPECT_EQ(ever(), 4);
    (void)use(cache, 400, 850);  // leaves room for one of 100 bytes
    EXPECT_EQ(cache.counts().regions, 2u);
    EXPECT_EQ(cache.counts().bytes, 950u);
    (void)use(cache, 0, 100);
    EXPECT_EQ(ever(), 5);
    (void)use(cache, 2000, 1001);  // too large to be kept
    EXPECT_EQ(cache.counts().regions, 2u);
    EXPECT_EQ(alive(), 2);
}

TEST_F(RegionCacheTest, RefusesWhatRegionsRefuse) {
    RegionCache cache;
    EXPECT_EQ(cache.expose({}, na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(cache.counts().regions, 0u);
}

TEST_F(RegionCacheTest, AnyThreadMayUseIt) {
    RegionCache cache({.regions_max = 4, .bytes_max = 4000});
    const auto work = [&](std::size_t seed) {
        for (std::size_t i = 0; i < 300; ++i) {
            const std::size_t first = (i * 37 + seed * 101) % 5000;
            const Region region = cache.expose(part(first, 1 + (i * seed) % 900), na::Access::read).value();
            if (i % 7 == 0) cache.forget(part(first, 10));
        }
    };
    std::thread other(work, 2);
    work(3);
    other.join();
    EXPECT_LE(cache.counts().regions, 4u);
    EXPECT_LE(cache.counts().bytes, 4000u);
}

}  // namespace
}  // namespace cinnabar::bulk
