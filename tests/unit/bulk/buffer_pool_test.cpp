// SPDX-License-Identifier: BSD-3-Clause
// Buffer pools: they have as many buffers as asked for, never give one to two holders, and buffers may outlive the
// pool.
#include "fake_transport.hpp"
#include "support/at_yield.hpp"

#include <cinnabar/bulk/buffer_pool.hpp>
#include <cinnabar/bulk/lend.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace cinnabar::bulk {
namespace {

TEST(BufferPool, GivesAsManyAsItWasMadeWith) {
    BufferPool pool = BufferPool::make(5000, 10).value();
    EXPECT_EQ(pool.buffer_bytes(), 5000u);
    for (int round = 0; round < 3; ++round) {
        std::vector<PooledBuffer> out;
        std::set<std::byte*> starts;
        for (int i = 0; i < 10; ++i) {
            out.push_back(pool.try_take());
            ASSERT_TRUE(out.back());
            ASSERT_EQ(out.back().bytes().size(), 5000u);
            starts.insert(out.back().bytes().data());
            std::memset(out.back().bytes().data(), i, 5000);
        }
        EXPECT_EQ(starts.size(), 10u);
        EXPECT_EQ(pool.buffers_free(), 0u);
        EXPECT_FALSE(pool.try_take());
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(out[static_cast<std::size_t>(i)].bytes()[4999], static_cast<std::byte>(i)) << "buffers overlap";
        }
        out.erase(out.begin() + 3);
        EXPECT_EQ(pool.buffers_free(), 1u);
        EXPECT_TRUE(pool.try_take());
    }
    EXPECT_EQ(pool.buffers_free(), 10u);
}

TEST(BufferPool, AbsurdSizesAreRefused) {
    EXPECT_EQ(BufferPool::make(0, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(BufferPool::make(1, 0).code(), Errc::invalid_argument);
    EXPECT_EQ(BufferPool::make(SIZE_MAX, 2).code(), Errc::out_of_memory);
    EXPECT_EQ(BufferPool::make(SIZE_MAX / 4, 3).code(), Errc::out_of_memory);
}

TEST(BufferPool, OneRegistrationServesAllBuffers) {
    auto transport = std::make_shared<FakeTransport>();
    BufferPool pool = BufferPool::make(100, 3).value();
    PooledBuffer a = pool.try_take();
    PooledBuffer b = pool.try_take();
    na::Memory* memory = a.region().memory_on(transport).value();
    EXPECT_EQ(b.region().memory_on(transport).value(), memory);
    EXPECT_NE(a.region().offset(), b.region().offset());
    EXPECT_EQ(transport->registered, 1);
}

TEST(BufferPool, ABufferOutlivesThePoolAndMoves) {
    PooledBuffer kept;
    EXPECT_FALSE(kept);
    {
        BufferPool pool = BufferPool::make(64, 1).value();
        PooledBuffer taken = pool.try_take();
        kept = std::move(taken);
        EXPECT_EQ(pool.buffers_free(), 0u);
    }
    ASSERT_TRUE(kept);
    kept.bytes()[63] = std::byte{1};
    PooledBuffer moved(std::move(kept));
    EXPECT_FALSE(kept);  // NOLINT(bugprone-use-after-move): what is left of it is the test
    EXPECT_EQ(moved.bytes()[63], std::byte{1});
}

TEST(BufferPool, ABufferInQuarantineStaysOut) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    BufferPool pool = BufferPool::make(100, 2).value();
    Lend lend;
    lend.fenced.run = [](WorkItem&) noexcept {};
    {
        const PooledBuffer first = pool.try_take();
        ASSERT_EQ(lend.grant(first.region(), na::Access::write, transport), Errc::ok);
        ASSERT_EQ(lend.revoke(), Errc::again);
        transport->fence_done(true);
    }
    EXPECT_EQ(pool.buffers_free(), 1u);
    {
        const PooledBuffer second = pool.try_take();
        EXPECT_TRUE(second);
        EXPECT_FALSE(second.region().quarantined());
        EXPECT_FALSE(pool.try_take()) << "a peer may still write to the first";
    }
    lend.forget();
    EXPECT_EQ(pool.buffers_free(), 2u);
    const PooledBuffer one = pool.try_take();
    const PooledBuffer other = pool.try_take();
    EXPECT_TRUE(one && other);
}

#ifndef NDEBUG
// A thread sees that the quarantine of a buffer has ended; before it frees the buffer, another one has used it, and it
// is in quarantine once more.
TEST(BufferPool, ABufferThatIsInQuarantineOnceMoreStaysOut) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    BufferPool pool = BufferPool::make(100, 1).value();
    std::array<Lend, 2> lends;
    const auto use = [&](Lend& lend) {
        lend.fenced.run = [](WorkItem&) noexcept {};
        const PooledBuffer buffer = pool.try_take();
        ASSERT_TRUE(buffer);
        ASSERT_EQ(lend.grant(buffer.region(), na::Access::write, transport), Errc::ok);
        ASSERT_EQ(lend.revoke(), Errc::again);
        transport->fence_done(true);
    };
    use(lends[0]);
    lends[0].forget();
    bool is_first = true;
    {
        const support::AtYield between("buffer pool: a quarantine has ended", [&] {
            if (std::exchange(is_first, false)) use(lends[1]);
        });
        EXPECT_EQ(pool.buffers_free(), 0u);
    }
    EXPECT_FALSE(is_first);
    EXPECT_FALSE(pool.try_take()) << "a peer may still write to it";
    lends[1].forget();
    EXPECT_EQ(pool.buffers_free(), 1u);
}
#endif

TEST(BufferPool, GoesBeforeABufferInQuarantine) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    Lend lend;
    lend.fenced.run = [](WorkItem&) noexcept {};
    Bytes bytes;
    {
        BufferPool pool = BufferPool::make(100, 2).value();
        const PooledBuffer buffer = pool.try_take();
        bytes = buffer.bytes();
        ASSERT_EQ(lend.grant(buffer.region(), na::Access::write, transport), Errc::ok);
        ASSERT_EQ(lend.revoke(), Errc::again);
        transport->fence_done(true);
    }
    bytes[0] = std::byte{1};  // as the peer may still do
    lend.forget();
}

TEST(BufferPool, NoBufferHasTwoHolders) {
    BufferPool pool = BufferPool::make(64, 5).value();
    std::atomic<int> doubles{0};
    std::atomic<int> taken{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 5000; ++i) {
                    PooledBuffer one = pool.try_take();
                    PooledBuffer two = pool.try_take();
                    for (PooledBuffer* buffer : {&one, &two}) {
                        if (!*buffer) continue;
                        ++taken;
                        std::atomic_ref<std::uint8_t> holders(*reinterpret_cast<std::uint8_t*>(buffer->bytes().data()));
                        if (holders.fetch_add(1) != 0) ++doubles;
                    }
                    for (PooledBuffer* buffer : {&one, &two}) {
                        if (!*buffer) continue;
                        std::atomic_ref<std::uint8_t>(*reinterpret_cast<std::uint8_t*>(buffer->bytes().data()))
                            .fetch_sub(1);
                    }
                }
            });
        }
    }
    EXPECT_EQ(doubles, 0);
    EXPECT_GT(taken, 0);
    EXPECT_EQ(pool.buffers_free(), 5u);
}

}  // namespace
}  // namespace cinnabar::bulk
