// SPDX-License-Identifier: BSD-3-Clause
// A connection driven by hand-made events.
#include "cm_events.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

namespace cinnabar::verbs {
namespace {

constexpr std::array dials{Stage::resolving_address, Stage::resolving_route, Stage::dialling};
constexpr std::array others{Stage::closed, Stage::draining};

CmAction action(Stage stage, rdma_cm_event_type event, int status = 0) { return step_of(stage, event, status).action; }
Errc why(Stage stage, rdma_cm_event_type event, int status = 0) { return step_of(stage, event, status).why; }

TEST(CmEvents, ADialGoesStepByStep) {
    EXPECT_EQ(action(Stage::resolving_address, RDMA_CM_EVENT_ADDR_RESOLVED), CmAction::resolve_route);
    EXPECT_EQ(action(Stage::resolving_route, RDMA_CM_EVENT_ROUTE_RESOLVED), CmAction::request);
    EXPECT_EQ(action(Stage::dialling, RDMA_CM_EVENT_ESTABLISHED), CmAction::established);
    EXPECT_EQ(action(Stage::accepted, RDMA_CM_EVENT_ESTABLISHED), CmAction::established);
}

TEST(CmEvents, OutOfTurnTheyMeanNothing) {
    EXPECT_EQ(action(Stage::dialling, RDMA_CM_EVENT_ADDR_RESOLVED), CmAction::ignore);
    EXPECT_EQ(action(Stage::resolving_address, RDMA_CM_EVENT_ROUTE_RESOLVED), CmAction::ignore);
    EXPECT_EQ(action(Stage::resolving_route, RDMA_CM_EVENT_ESTABLISHED), CmAction::ignore);
    EXPECT_EQ(action(Stage::open, RDMA_CM_EVENT_ESTABLISHED), CmAction::ignore) << "its first message was faster";
    for (const Stage stage : others) {
        for (int event = RDMA_CM_EVENT_ADDR_RESOLVED; event <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++event) {
            EXPECT_EQ(action(stage, static_cast<rdma_cm_event_type>(event)), CmAction::ignore) << event;
        }
    }
}

TEST(CmEvents, EachWayToFailIsToldApart) {
    EXPECT_EQ(why(Stage::resolving_address, RDMA_CM_EVENT_ADDR_ERROR), Errc::unreachable);
    EXPECT_EQ(why(Stage::resolving_route, RDMA_CM_EVENT_ROUTE_ERROR), Errc::unreachable);
    EXPECT_EQ(why(Stage::dialling, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT), Errc::timed_out);
    EXPECT_EQ(why(Stage::dialling, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNREFUSED), Errc::refused);
    EXPECT_EQ(why(Stage::dialling, RDMA_CM_EVENT_CONNECT_ERROR), Errc::unreachable);
    EXPECT_EQ(why(Stage::dialling, RDMA_CM_EVENT_REJECTED, 8), Errc::refused) << "nobody has that service";
    EXPECT_EQ(why(Stage::dialling, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED), Errc::refused);
    EXPECT_EQ(why(Stage::dialling, RDMA_CM_EVENT_REJECTED, 28), Errc::peer_lost) << "closed before it answered";
    EXPECT_EQ(action(Stage::dialling, RDMA_CM_EVENT_REJECTED, 28), CmAction::rejected);
    for (const Stage stage : dials) {
        EXPECT_EQ(action(stage, RDMA_CM_EVENT_DEVICE_REMOVAL), CmAction::failed);
        EXPECT_EQ(why(stage, RDMA_CM_EVENT_DEVICE_REMOVAL), Errc::unreachable);
    }
}

TEST(CmEvents, WhatStoodIsLost) {
    for (const Stage stage : {Stage::open, Stage::accepted}) {
        EXPECT_EQ(action(stage, RDMA_CM_EVENT_DISCONNECTED), CmAction::lost);
        EXPECT_EQ(why(stage, RDMA_CM_EVENT_DISCONNECTED), Errc::peer_lost);
        EXPECT_EQ(why(stage, RDMA_CM_EVENT_DEVICE_REMOVAL), Errc::unreachable);
        EXPECT_EQ(why(stage, RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET), Errc::peer_lost);
        EXPECT_EQ(action(stage, RDMA_CM_EVENT_TIMEWAIT_EXIT), CmAction::ignore);
        EXPECT_EQ(action(stage, RDMA_CM_EVENT_ADDR_CHANGE), CmAction::ignore);
    }
}

TEST(Dial, AddressesThatSayNothingShareItsTime) {
    constexpr TimeUs whole = 10'000'000;
    TimeUs left = whole;
    for (std::size_t addresses = 4; addresses > 0; --addresses) {
        const TimeUs share = share_of(left, addresses);
        EXPECT_EQ(share, whole / 4) << addresses;
        left -= share;
    }
    EXPECT_EQ(left, 0u);
    EXPECT_EQ(share_of(whole, 1), whole);
    EXPECT_EQ(share_of(9'000'000, 3), 3'000'000u) << "what a place did not need is for all that are left";
}

}  // namespace
}  // namespace cinnabar::verbs
