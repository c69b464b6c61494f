// SPDX-License-Identifier: BSD-3-Clause
// Regions: windows over segments, copies across segments, registration at first use, and which object keeps which
// alive.
#include "fake_transport.hpp"
#include "support/patterns.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/region.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace cinnabar::bulk {
namespace {

using support::fill_pattern;
using support::GuardedBuffer;

TEST(Region, ExposesOneSegment) {
    GuardedBuffer buffer(100, 1);
    auto region = Region::expose(buffer.bytes(), na::Access::read_write);
    ASSERT_TRUE(region);
    EXPECT_EQ(region->bytes(), 100u);
    EXPECT_EQ(region->offset(), 0u);
    EXPECT_EQ(region->access(), na::Access::read_write);
    EXPECT_EQ(region->contiguous().data(), buffer.data());
    EXPECT_EQ(region->contiguous().size(), 100u);
}

TEST(Region, NoBytesAndNullSegmentsAreRefused) {
    EXPECT_EQ(Region::expose(Bytes(), na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(Region::expose(std::span<const na::Segment>(), na::Access::read).code(), Errc::invalid_argument);
    std::byte byte{};
    const na::Segment segments[] = {{&byte, 1}, {nullptr, 3}};
    EXPECT_EQ(Region::expose(segments, na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(Region::allocate(0, na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(Region::allocate(SIZE_MAX - 10, na::Access::read).code(), Errc::out_of_memory);
    EXPECT_EQ(Region::allocate(SIZE_MAX / 2, na::Access::read).code(), Errc::out_of_memory);
}

TEST(Region, EmptySegmentsAreDropped) {
    std::byte bytes[6] = {};
    const na::Segment segments[] = {{nullptr, 0}, {bytes, 2}, {bytes, 0}, {bytes + 2, 4}};
    auto region = Region::expose(segments, na::Access::read);
    ASSERT_TRUE(region);
    EXPECT_EQ(region->segments().size(), 2u);
    EXPECT_EQ(region->segment_ends().back(), 6u);
}

TEST(Region, ReadOnlyMemoryMayBeReadOnly) {
    const std::byte bytes[4] = {};
    auto region = Region::expose(ConstBytes(bytes));
    ASSERT_TRUE(region);
    EXPECT_EQ(region->access(), na::Access::read);
}

TEST(Region, SlicesOfSlices) {
    GuardedBuffer a(10, 1);
    GuardedBuffer b(10, 2);
    const na::Segment segments[] = {a.segment(), b.segment()};
    const Region region = Region::expose(segments, na::Access::read).value();
    const Region slice = region.slice(5, 10).slice(5, 5);
    EXPECT_EQ(slice.offset(), 10u);
    EXPECT_EQ(slice.bytes(), 5u);
    EXPECT_EQ(slice.contiguous().data(), b.data());
    EXPECT_TRUE(region.contiguous().empty()) << "two segments are not one span";
    EXPECT_EQ(region.slice(0, 10).contiguous().data(), a.data());
    EXPECT_TRUE(region.slice(3, 0).contiguous().empty());
    EXPECT_DEATH((void)region.slice(5, 16), "offset");
    EXPECT_DEATH((void)slice.slice(6, 0), "offset");
}

TEST(Region, CopiesGoAcrossSegments) {
    test::for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        std::vector<std::unique_ptr<GuardedBuffer>> buffers;
        std::vector<na::Segment> segments;
        for (std::uint64_t i = 1 + random.below(8); i > 0; --i) {
            buffers.push_back(std::make_unique<GuardedBuffer>(1 + random.below(50)));
            segments.push_back(buffers.back()->segment());
        }
        const Region region = Region::expose(segments, na::Access::read_write).value();
        const std::uint64_t start = random.below(region.bytes());
        const Region window = region.slice(start, random.below(region.bytes() - start) + 1);
        const std::uint64_t offset = random.below(window.bytes());
        std::vector<std::byte> bytes(random.below(window.bytes() - offset + 1));
        fill_pattern(bytes, seed);
        window.copy_in(offset, bytes);
        std::vector<std::byte> back(bytes.size());
        window.copy_out(offset, back);
        ASSERT_EQ(back, bytes);
        std::uint64_t written = 0;
        for (auto& buffer : buffers) {
            ASSERT_TRUE(buffer->guards_intact());
            for (std::byte b : buffer->bytes()) written += b != std::byte{0};
        }
        ASSERT_LE(written, bytes.size());
    });
}

TEST(Region, AllocatedMemoryIsZeroedAlignedAndKeptFromChildren) {
    // A large region starts where a huge page may start.
    const Region large = Region::allocate(5'000'000, na::Access::read_write).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.contiguous().data()) % (2u << 20), 0u);
    EXPECT_EQ(large.contiguous()[4'999'999], std::byte{0});
    const Region region = Region::allocate(10'000, na::Access::read_write).value();
    const Bytes bytes = region.contiguous();
    ASSERT_EQ(bytes.size(), 10'000u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)),
              0u);
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }));
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        // Not mapped in the child: write() then fails without a fault.
        ::_exit(::write(ends[1], bytes.data(), 1) == 1 ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(Region, ATransportMayProvideTheMemory) {
    auto transport = std::make_shared<FakeTransport>();
    transport->provides_memory = true;
    {
        const Region region = Region::allocate(100, na::Access::read, transport).value();
        EXPECT_EQ(transport->memory_provided, 1);
        EXPECT_EQ(region.bytes(), 100u);
    }
    EXPECT_EQ(transport->memory_provided, 0);
    transport->provides_memory = false;
    EXPECT_TRUE(Region::allocate(100, na::Access::read, transport));
    EXPECT_EQ(transport->memory_provided, 0);
}

TEST(Region, RegistersOncePerTransportAndKeepsIt) {
    auto first = std::make_shared<FakeTransport>("one");
    auto second = std::make_shared<FakeTransport>("two");
    std::weak_ptr<FakeTransport> watch = first;
    GuardedBuffer buffer(64, 1);
    {
        const Region region = Region::expose(buffer.bytes(), na::Access::read).value();
        na::Memory* memory = region.memory_on(first).value();
        EXPECT_EQ(region.slice(1, 2).memory_on(first).value(), memory) << "slices share the registration";
        EXPECT_NE(region.memory_on(second).value(), memory);
        EXPECT_EQ(first->registered, 1);
        EXPECT_EQ(second->registered, 1);
        first.reset();
        EXPECT_FALSE(watch.expired());
    }
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(second->registrations, 0);
}

TEST(Region, AFailedRegistrationIsTriedAgain) {
    auto transport = std::make_shared<FakeTransport>();
    GuardedBuffer buffer(64, 1);
    const Region region = Region::expose(buffer.bytes(), na::Access::read).value();
    transport->registration_answer = Errc::out_of_memory;
    EXPECT_EQ(region.memory_on(transport).code(), Errc::out_of_memory);
    transport->registration_answer = Errc::ok;
    EXPECT_TRUE(region.memory_on(transport));
}

TEST(Region, ManyThreadsRegisterOnce) {
    GuardedBuffer buffer(64, 1);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::shared_ptr<FakeTransport>> transports{std::make_shared<FakeTransport>("a"),
                                                               std::make_shared<FakeTransport>("b")};
        const Region region = Region::expose(buffer.bytes(), na::Access::read).value();
        std::atomic<int> failures{0};
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < 4; ++t) {
                threads.emplace_back([&] {
                    for (const auto& transport : transports) {
                        auto memory = region.memory_on(transport);
                        if (!memory || &(*memory)->transport() != transport.get()) ++failures;
                    }
                });
            }
        }
        ASSERT_EQ(failures, 0);
        for (const auto& transport : transports) ASSERT_EQ(transport->registered, 1);
    }
}

TEST(Lend, HoldsTheRegionUntilRevoked) {
    auto transport = std::make_shared<FakeTransport>();
    GuardedBuffer buffer(64, 1);
    Lend lend;
    ASSERT_EQ(
        lend.grant(Region::expose(buffer.bytes(), na::Access::read).value().slice(8, 16), na::Access::read, transport),
        Errc::ok);
    EXPECT_TRUE(lend.granted());
    EXPECT_EQ(lend.lease().offset, 8u);
    EXPECT_EQ(lend.lease().bytes, 16u);
    EXPECT_EQ(transport->registrations, 1);
    EXPECT_EQ(lend.revoke(), Errc::ok);
    EXPECT_FALSE(lend.granted());
    EXPECT_EQ(transport->registrations, 0) << "the last handle has gone";
    EXPECT_EQ(transport->leases.granted(), 0u);
}

TEST(Lend, RefusesMoreAccessThanTheRegionHas) {
    auto transport = std::make_shared<FakeTransport>();
    GuardedBuffer buffer(64, 1);
    Lend lend;
    const Region region = Region::expose(buffer.bytes(), na::Access::read).value();
    EXPECT_EQ(lend.grant(region, na::Access::write, transport), Errc::permission);
    EXPECT_FALSE(lend.granted());
    EXPECT_TRUE(lend.region().empty());
    transport->registration_answer = Errc::too_large;
    GuardedBuffer other(64, 1);
    EXPECT_EQ(lend.grant(Region::expose(other.bytes(), na::Access::read).value(), na::Access::read, transport),
              Errc::too_large);
    transport->registration_answer = Errc::ok;
    EXPECT_EQ(lend.grant(region, na::Access::read, transport), Errc::ok) << "an error leaves nothing behind";
    EXPECT_EQ(lend.revoke(), Errc::ok);
}

TEST(Lend, ALateFenceLetsTheRegionGoWhenItIsDone) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    GuardedBuffer buffer(64, 1);
    Lend lend;
    static Lend* fenced;
    fenced = nullptr;
    lend.fenced.run = [](WorkItem& work) noexcept { fenced = &Lend::of(work); };
    ASSERT_EQ(lend.grant(Region::expose(buffer.bytes(), na::Access::read).value(), na::Access::read, transport),
              Errc::ok);
    ASSERT_EQ(lend.revoke(), Errc::again);
    EXPECT_EQ(fenced, nullptr);
    EXPECT_EQ(transport->registrations, 1);
    transport->fence_done(false);
    EXPECT_EQ(fenced, &lend);
    EXPECT_FALSE(lend.quarantined());
    EXPECT_EQ(transport->registrations, 0);
}

TEST(Lend, AFailedFenceKeepsTheMemoryUntilThePeersFateIsKnown) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    GuardedBuffer buffer(64, 1);
    Lend lend;
    lend.fenced.run = [](WorkItem&) noexcept {};
    ASSERT_EQ(lend.grant(Region::expose(buffer.bytes(), na::Access::write).value(), na::Access::write, transport),
              Errc::ok);
    ASSERT_EQ(lend.revoke(), Errc::again);
    transport->fence_done(true);
    EXPECT_TRUE(lend.quarantined());
    EXPECT_EQ(transport->registrations, 1);
    lend.forget();
    EXPECT_FALSE(lend.quarantined());
    EXPECT_EQ(transport->registrations, 0);
}

TEST(Lend, ARegionTellsWhichOfItsBytesAreInQuarantine) {
    auto transport = std::make_shared<FakeTransport>();
    transport->fences_late = true;
    GuardedBuffer buffer(64, 1);
    const Region region = Region::expose(buffer.bytes(), na::Access::write).value();
    Lend lend;
    lend.fenced.run = [](WorkItem&) noexcept {};
    ASSERT_EQ(lend.grant(region.slice(16, 16), na::Access::write, transport), Errc::ok);
    ASSERT_EQ(lend.revoke(), Errc::again);
    EXPECT_FALSE(region.quarantined()) << "the fence has its time";
    transport->fence_done(true);
    EXPECT_TRUE(region.quarantined());
    EXPECT_TRUE(region.slice(31, 1).quarantined());
    EXPECT_FALSE(region.slice(0, 16).quarantined());
    EXPECT_FALSE(region.slice(32, 32).quarantined());
    lend.forget();
    EXPECT_FALSE(region.quarantined());
}

}  // namespace
}  // namespace cinnabar::bulk
