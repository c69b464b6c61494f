// SPDX-License-Identifier: BSD-3-Clause
#include "support/network.hpp"

#include <cinnabar/na/lease_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

namespace cinnabar::na {
namespace {

class LeaseTableTest : public testing::Test {
  protected:
    LeaseTableTest() {
        const Segment segment{bytes_.data(), bytes_.size()};
        memory_ = transport_->register_memory({&segment, 1}, Access::read_write).value();
    }
    Lease lease_of(std::uint64_t offset, std::uint64_t bytes, Access access) {
        Lease lease;
        lease.memory = memory_.get();
        lease.offset = offset;
        lease.bytes = bytes;
        lease.access = access;
        return lease;
    }
    static LeaseKey key_of(const Lease& lease) { return {lease.slot, lease.generation, lease.key}; }

    support::Network network_{support::NetworkKind::self};
    std::unique_ptr<Transport> transport_ = network_.open("a", {}).value();
    std::array<std::byte, 4096> bytes_{};
    std::unique_ptr<Memory> memory_;
    LeaseTable table_{128};
};

TEST_F(LeaseTableTest, PinsWhatWasLent) {
    Lease lease = lease_of(100, 50, Access::read);
    ASSERT_EQ(table_.grant(lease), Errc::ok);
    EXPECT_TRUE(lease.granted());
    EXPECT_EQ(table_.granted(), 1u);
    {
        const auto pin = table_.pin(key_of(lease), 10, 40, Access::read, nullptr);
        ASSERT_TRUE(pin.ok());
        EXPECT_EQ(&pin.memory(), memory_.get());
        EXPECT_EQ(pin.offset(), 110u);
    }
    table_.revoke(lease);
    EXPECT_FALSE(lease.granted());
    EXPECT_EQ(table_.granted(), 0u);
}

TEST_F(LeaseTableTest, BoundsAndPermission) {
    Lease lease = lease_of(100, 50, Access::read);
    ASSERT_EQ(table_.grant(lease), Errc::ok);
    const std::uint64_t most = ~std::uint64_t{0};
    EXPECT_EQ(table_.pin(key_of(lease), 0, 51, Access::read, nullptr).why(), Errc::too_large);
    EXPECT_EQ(table_.pin(key_of(lease), 50, 1, Access::read, nullptr).why(), Errc::too_large);
    EXPECT_EQ(table_.pin(key_of(lease), 51, 0, Access::read, nullptr).why(), Errc::too_large);
    EXPECT_EQ(table_.pin(key_of(lease), most, 2, Access::read, nullptr).why(), Errc::too_large);
    EXPECT_EQ(table_.pin(key_of(lease), 2, most, Access::read, nullptr).why(), Errc::too_large);
    EXPECT_TRUE(table_.pin(key_of(lease), 50, 0, Access::read, nullptr).ok());
    EXPECT_EQ(table_.pin(key_of(lease), 0, 1, Access::write, nullptr).why(), Errc::permission);
    EXPECT_EQ(table_.pin(key_of(lease), 0, 8, Access::read_write, nullptr).why(), Errc::permission);
    table_.revoke(lease);
}

TEST_F(LeaseTableTest, ForgedKeysAreRefused) {
    Lease lease = lease_of(0, 64, Access::read_write);
    ASSERT_EQ(table_.grant(lease), Errc::ok);
    const LeaseKey good = key_of(lease);
    for (const LeaseKey& forged :
         {LeaseKey{good.slot, good.generation, good.key ^ 1}, LeaseKey{good.slot, good.generation + 1, good.key},
          LeaseKey{good.slot + 1, good.generation, good.key}, LeaseKey{good.slot, good.generation, 0},
          LeaseKey{0xffff'ffff, 0, 1}, LeaseKey{127, 0, 0}, LeaseKey{100'000, 0, good.key}}) {
        EXPECT_EQ(table_.pin(forged, 0, 1, Access::read, nullptr).why(), Errc::permission);
    }
    table_.revoke(lease);
    EXPECT_EQ(table_.pin(good, 0, 1, Access::read, nullptr).why(), Errc::permission);
}

TEST_F(LeaseTableTest, ASlotThatIsUsedAgainHasAnotherGeneration) {
    Lease first = lease_of(0, 64, Access::read);
    ASSERT_EQ(table_.grant(first), Errc::ok);
    const LeaseKey old = key_of(first);
    table_.revoke(first);
    Lease second = lease_of(0, 64, Access::read);
    ASSERT_EQ(table_.grant(second), Errc::ok);
    ASSERT_EQ(second.slot, old.slot);
    EXPECT_NE(second.generation, old.generation);
    EXPECT_NE(second.key, old.key);
    EXPECT_FALSE(table_.pin(old, 0, 1, Access::read, nullptr).ok());
    table_.revoke(second);
}

TEST_F(LeaseTableTest, SlotsRunOutAndComeBack) {
    std::deque<Lease> leases;
    for (;;) {
        Lease& lease = leases.emplace_back(lease_of(0, 1, Access::read));
        const Errc granted = table_.grant(lease);
        if (granted != Errc::ok) {
            EXPECT_EQ(granted, Errc::too_large);
            leases.pop_back();
            break;
        }
        ASSERT_LE(leases.size(), 128u);
    }
    EXPECT_EQ(leases.size(), 128u);
    for (Lease& lease : leases) table_.revoke(lease);
    EXPECT_EQ(table_.granted(), 0u);
    Lease lease = lease_of(0, 1, Access::read);
    ASSERT_EQ(table_.grant(lease), Errc::ok);
    table_.revoke(lease);
}

TEST_F(LeaseTableTest, KeyOnTheWire) {
    std::array<std::byte, LeaseKey::wire_bytes> bytes{};
    ByteWriter writer(bytes);
    LeaseKey{0x01020304, 0x05060708, 0x1112131415161718}.encode(writer);
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(bytes[0], std::byte{0x04});
    EXPECT_EQ(bytes[4], std::byte{0x08});
    EXPECT_EQ(bytes[8], std::byte{0x18});
    ByteReader reader(bytes);
    const LeaseKey key = LeaseKey::decode(reader);
    EXPECT_EQ(key.slot, 0x01020304u);
    EXPECT_EQ(key.generation, 0x05060708u);
    EXPECT_EQ(key.key, 0x1112131415161718u);
}

// After revoke() returns, no pin of the lease is held and none succeeds: writers that respect their pins never write to
// revoked memory.
TEST_F(LeaseTableTest, RevokeWaitsForPinsAndIsAbsolute) {
    std::atomic<bool> stop{false};
    std::array<std::atomic<std::uint64_t>, 3> published{};  // slot, generation, key; a torn read gives a forged key
    std::atomic<std::uint64_t> wrote{0};
    std::vector<std::thread> writers;
    std::array<std::atomic<unsigned char>, 64> shared{};
    for (int t = 0; t < 3; ++t) {
        writers.emplace_back([&] {
            while (!stop.load()) {
                const LeaseKey key{static_cast<std::uint32_t>(published[0].load()),
                                   static_cast<std::uint32_t>(published[1].load()), published[2].load()};
                const auto pin = table_.pin(key, 0, 64, Access::write, nullptr);
                if (!pin.ok()) {  // with few cores, the granting thread needs this one
                    std::this_thread::yield();
                    continue;
                }
                for (auto& byte : shared) byte.store(1, std::memory_order_relaxed);
                ++wrote;
            }
        });
    }
    unsigned violations = 0;
    // On few cores the writers may not have run yet.
    for (int round = 0; round < 300 || (wrote.load() == 0 && round < 1'000'000); ++round) {
        Lease lease = lease_of(0, 64, Access::write);
        ASSERT_EQ(table_.grant(lease), Errc::ok);
        published[0] = lease.slot;
        published[1] = lease.generation;
        published[2] = lease.key;
        for (int i = 0; i < round % 4; ++i) std::this_thread::yield();
        table_.revoke(lease);
        for (auto& byte : shared) byte.store(0, std::memory_order_relaxed);
        for (int i = 0; i < 4; ++i) {
            for (const auto& byte : shared) violations += byte.load(std::memory_order_relaxed) != 0;
        }
    }
    stop = true;
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(violations, 0u);
    EXPECT_GT(wrote, 0u);
    EXPECT_EQ(table_.granted(), 0u);
}

TEST_F(LeaseTableTest, GrantedAndRevokedByManyThreads) {
    std::vector<std::thread> threads;
    std::atomic<unsigned> failures{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) {
                Lease lease = lease_of(0, 64, Access::read);
                if (table_.grant(lease) != Errc::ok) {
                    ++failures;
                    continue;
                }
                if (!table_.pin(key_of(lease), 0, 64, Access::read, nullptr).ok()) ++failures;
                table_.revoke(lease);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 0u);
    EXPECT_EQ(table_.granted(), 0u);
}

}  // namespace
}  // namespace cinnabar::na
