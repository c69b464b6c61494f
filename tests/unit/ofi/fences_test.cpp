// SPDX-License-Identifier: BSD-3-Clause
// Revoking leases while the fabric sends from their memory; pins stand in for such sends.
#include "fences.hpp"

#include "support/allocation_count.hpp"
#include "support/network.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

namespace cinnabar::ofi {
namespace {

constexpr TimeUs begun = 1'000'000;
constexpr TimeUs long_after = begun + 10'000'000;

class FencesTest : public testing::Test {
  protected:
    FencesTest() {
        const na::Segment segment{bytes_.data(), bytes_.size()};
        memory_ = transport_->register_memory({&segment, 1}, na::Access::read).value();
        lease_.memory = memory_.get();
        lease_.bytes = bytes_.size();
        EXPECT_EQ(table_.grant(lease_), Errc::ok);
        key_ = {lease_.slot, lease_.generation, lease_.key};
    }
    na::LeaseTable::Pin pin() { return table_.pin(key_, 0, bytes_.size(), na::Access::read, nullptr); }
    // Returns whether the fence ended.
    bool check(TimeUs now) {
        const unsigned ended = fences_->check(now, [&](WorkItem& fenced) { EXPECT_EQ(&fenced, &lease_.fenced); });
        EXPECT_LE(ended, 1u);
        return ended == 1;
    }

    support::Network network_{support::NetworkKind::self};
    std::unique_ptr<na::Transport> transport_ = network_.open("a", {}).value();
    std::array<std::byte, 64> bytes_{};
    std::unique_ptr<na::Memory> memory_;
    na::LeaseTable table_{64};
    std::optional<Fences> fences_{table_};
    na::Lease lease_;
    na::LeaseKey key_;
};

TEST_F(FencesTest, AnUnusedLeaseIsRevokedAtOnce) {
    EXPECT_EQ(fences_->revoke(lease_, begun), Errc::ok);
    EXPECT_FALSE(lease_.granted());
    EXPECT_FALSE(fences_->pending());
    EXPECT_EQ(table_.granted(), 0u);
}

TEST_F(FencesTest, MemoryThatTheFabricHasIsWaitedFor) {
    auto held = std::make_unique<na::LeaseTable::Pin>(pin());
    ASSERT_EQ(fences_->revoke(lease_, begun), Errc::again);
    EXPECT_TRUE(lease_.granted());
    EXPECT_TRUE(fences_->pending());
    EXPECT_EQ(pin().why(), Errc::permission) << "nobody begins";
    EXPECT_FALSE(check(begun + 1));
    held.reset();
    EXPECT_TRUE(check(begun + 2));
    EXPECT_FALSE(lease_.granted());
    EXPECT_FALSE(lease_.fence_failed);
    EXPECT_FALSE(fences_->pending());
    EXPECT_EQ(table_.granted(), 0u);
}

TEST_F(FencesTest, MemoryThatTheFabricKeepsFailsTheFence) {
    auto held = std::make_unique<na::LeaseTable::Pin>(pin());
    ASSERT_EQ(fences_->revoke(lease_, begun), Errc::again);
    EXPECT_TRUE(check(long_after));
    EXPECT_FALSE(lease_.granted());
    EXPECT_TRUE(lease_.fence_failed);
    EXPECT_EQ(table_.granted(), 1u) << "its slot is no other lease's";
    EXPECT_FALSE(check(long_after)) << "it ends once";
    held.reset();
    EXPECT_FALSE(check(long_after));
    EXPECT_FALSE(fences_->pending());
    EXPECT_EQ(table_.granted(), 0u);
}

TEST_F(FencesTest, NeedsNoMemory) {
    auto held = std::make_unique<na::LeaseTable::Pin>(pin());
    {
        std::optional<support::NoMemory> out;
        if (support::NoMemory::works()) out.emplace();  // otherwise a sanitizer owns malloc
        EXPECT_EQ(fences_->revoke(lease_, begun), Errc::again);
    }
    held.reset();
    EXPECT_TRUE(check(begun + 1));
}

TEST_F(FencesTest, AFailedFenceEndsWithItsTransport) {
    auto held = std::make_unique<na::LeaseTable::Pin>(pin());
    ASSERT_EQ(fences_->revoke(lease_, begun), Errc::again);
    EXPECT_TRUE(check(long_after));
    held.reset();  // the endpoint was closed
    fences_.reset();
    EXPECT_EQ(table_.granted(), 0u);
}

}  // namespace
}  // namespace cinnabar::ofi
