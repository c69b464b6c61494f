// SPDX-License-Identifier: BSD-3-Clause
#include "device_events.hpp"

#include <gtest/gtest.h>

namespace cinnabar::verbs {
namespace {

DeviceAction action(ibv_event_type event) { return device_step_of(event, false).action; }
Errc why(ibv_event_type event, bool iwarp = false) { return device_step_of(event, iwarp).why; }

TEST(DeviceEvents, EachHasItsEffect) {
    for (const ibv_event_type event : {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR}) {
        EXPECT_EQ(action(event), DeviceAction::end_session) << event;
    }
    EXPECT_EQ(action(IBV_EVENT_CQ_ERR), DeviceAction::end_port);
    EXPECT_EQ(action(IBV_EVENT_SRQ_ERR), DeviceAction::end_port);
    EXPECT_EQ(action(IBV_EVENT_DEVICE_FATAL), DeviceAction::end_ports);
    EXPECT_EQ(action(IBV_EVENT_PORT_ERR), DeviceAction::tell) << "the retry limits decide";
    for (const ibv_event_type event : {IBV_EVENT_COMM_EST, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_GID_CHANGE,
                                       IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED}) {
        EXPECT_EQ(action(event), DeviceAction::ignore) << event;
    }
}

TEST(DeviceEvents, ALocalFailureIsNotALossOfThePeer) {
    for (const ibv_event_type event :
         {IBV_EVENT_QP_FATAL, IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR, IBV_EVENT_DEVICE_FATAL}) {
        EXPECT_EQ(why(event), Errc::io) << event;
    }
    EXPECT_EQ(why(IBV_EVENT_QP_REQ_ERR), Errc::protocol);
    EXPECT_EQ(why(IBV_EVENT_QP_ACCESS_ERR), Errc::peer_lost) << "as where a completion says so";
}

TEST(DeviceEvents, OnIwarpAQueuePairFailsWithItsStream) {
    EXPECT_EQ(why(IBV_EVENT_QP_FATAL, true), Errc::peer_lost);
    EXPECT_EQ(why(IBV_EVENT_QP_REQ_ERR, true), Errc::peer_lost);
    EXPECT_EQ(why(IBV_EVENT_DEVICE_FATAL, true), Errc::io);
}

}  // namespace
}  // namespace cinnabar::verbs
