// SPDX-License-Identifier: BSD-3-Clause
// Which leases are bound to which session, without a device: received what, expect what.
#include "bindings.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cinnabar::verbs {
namespace {

class BindingsTest : public testing::Test {
  protected:
    // A lease with that many windows, of which none is the device's.
    static void give_windows(LentMemory& lent, std::size_t count) {
        static std::array<ibv_mw, 64> windows;
        static ibv_context context = [] {
            ibv_context made{};
            made.ops.dealloc_mw = [](ibv_mw*) { return 0; };
            return made;
        }();
        static std::array<ibv_mr, 64> registrations;
        for (std::size_t i = 0; i < count; ++i) {
            windows[i].context = &context;
            lent.windows.emplace_back(&windows[i]);
            lent.segments.push_back({i, 1, static_cast<std::uint32_t>(i)});
            lent.registrations.emplace_back(&registrations[i]);
        }
    }
    static void forget_registrations(LentMemory& lent) {
        for (Registration& each : lent.registrations) (void)each.release();
    }
    std::uint32_t take(std::uint32_t most = 16) {
        bindings_.take(peer_, bound_, most, requests_);
        return requests_.count;
    }
    void SetUp() override { give_windows(lent_, 1); }
    void TearDown() override {
        forget_registrations(lent_);
        forget_registrations(other_);
    }

    LentMemory lent_;
    LentMemory other_;
    na::Lease lease_;
    Bindings bindings_;
    LeasesToBind peer_;
    LentList bound_;
    BindRequests requests_;
};

TEST_F(BindingsTest, ALeaseIsBoundOnce) {
    EXPECT_FALSE(peer_.any());
    bindings_.add(lent_, peer_);
    EXPECT_TRUE(peer_.any());
    ASSERT_EQ(take(), 1u);
    EXPECT_EQ(requests_.lent[0], &lent_);
    EXPECT_EQ(requests_.requests[0].bind_mw.mw, lent_.windows[0].get());
    EXPECT_FALSE(peer_.any());
    bindings_.add(lent_, peer_);
    EXPECT_FALSE(peer_.any()) << "asked for again";
    EXPECT_EQ(bindings_.completed(lent_), nullptr);
    EXPECT_TRUE(bindings_.leave(lent_, lease_));
    EXPECT_TRUE(bound_.empty());
}

TEST_F(BindingsTest, RequestsAreChainedAndContinuedWhereThereWasNoRoom) {
    give_windows(other_, 20);
    bindings_.add(lent_, peer_);
    bindings_.add(other_, peer_);
    ASSERT_EQ(take(3), 3u);
    EXPECT_EQ(requests_.requests[0].next, &requests_.requests[1]);
    EXPECT_EQ(requests_.requests[2].next, nullptr);
    EXPECT_EQ(requests_.lent[1], &other_);
    EXPECT_TRUE(peer_.any());
    ASSERT_EQ(take(), 16u);
    EXPECT_EQ(requests_.requests[0].bind_mw.bind_info.addr, 2u);
    ASSERT_EQ(take(), 2u);
    EXPECT_FALSE(peer_.any());
    EXPECT_EQ(take(), 0u);
    bindings_.release(bound_);
}

TEST_F(BindingsTest, ALeaseThatIsRevokedBeforeItsRequestLeavesIsNotBound) {
    bindings_.add(lent_, peer_);
    EXPECT_TRUE(bindings_.leave(lent_, lease_));
    EXPECT_FALSE(peer_.any());
    EXPECT_EQ(take(), 0u);
}

TEST_F(BindingsTest, ALeaseThatIsRevokedMeanwhileEndsWithItsLastRequest) {
    give_windows(other_, 3);
    bindings_.add(other_, peer_);
    ASSERT_EQ(take(2), 2u);
    EXPECT_FALSE(bindings_.leave(other_, lease_));
    EXPECT_FALSE(peer_.any()) << "its last window is not bound any more";
    EXPECT_EQ(take(), 0u);
    EXPECT_EQ(bindings_.completed(other_), nullptr);
    EXPECT_EQ(bindings_.completed(other_), &lease_);
    EXPECT_TRUE(bound_.empty());
}

// The peer may be freed before the session that drains.
TEST_F(BindingsTest, ADrainingSessionBindsNoMoreAndForgetsItsPeer) {
    give_windows(other_, 3);
    LeasesToBind peer;
    bindings_.add(other_, peer);
    bindings_.take(peer, bound_, 2, requests_);
    ASSERT_EQ(requests_.count, 2u);
    bindings_.stop(bound_);
    EXPECT_FALSE(peer.any());
    EXPECT_EQ(other_.waits_at, nullptr);
    bindings_.release(bound_);
}

TEST_F(BindingsTest, TheEndOfTheSessionFreesItsWindows) {
    give_windows(other_, 2);
    bindings_.add(lent_, peer_);
    bindings_.add(other_, peer_);
    ASSERT_EQ(take(2), 2u);
    EXPECT_EQ(bindings_.completed(lent_), nullptr);
    bindings_.release(bound_);
    EXPECT_TRUE(bound_.empty());
    EXPECT_TRUE(lent_.windows.empty());
    EXPECT_TRUE(other_.windows.empty());
    EXPECT_FALSE(peer_.any()) << "a key that was bound once is not bound again";
    EXPECT_TRUE(bindings_.leave(lent_, lease_));
    EXPECT_FALSE(bindings_.leave(other_, lease_));
    EXPECT_EQ(bindings_.completed(other_), &lease_);
}

TEST_F(BindingsTest, ALeaseThatWaitsSurvivesTheEndOfASessionAndOfThePeer) {
    {
        LeasesToBind gone;
        bindings_.add(lent_, gone);
        bindings_.release(bound_);
        EXPECT_TRUE(gone.any()) << "it waits for the next session";
    }
    EXPECT_TRUE(bindings_.leave(lent_, lease_));
}

}  // namespace
}  // namespace cinnabar::verbs
