// SPDX-License-Identifier: BSD-3-Clause
#include "completion.hpp"

#include <gtest/gtest.h>

namespace cinnabar::verbs {
namespace {

TEST(WorkId, TellsSendsFromReceives) {
    const WorkId receive = WorkId::of_receive(0xffff'fffe);
    EXPECT_TRUE(receive.is_receive());
    EXPECT_EQ(receive.slot(), 0xffff'fffeu);
    const WorkId send = WorkId::of_send(0x7f'ffff, 0xff, 0xffff'ffff);
    EXPECT_FALSE(send.is_receive());
    EXPECT_EQ(send.session(), 0x7f'ffffu);
    EXPECT_EQ(send.life(), 0xff);
    EXPECT_EQ(send.place(), 0xffff'ffffu);
}

TEST(Completion, EachFailureHasItsCode) {
    EXPECT_EQ(operation_error(IBV_WC_SUCCESS), Errc::ok);
    EXPECT_EQ(operation_error(IBV_WC_REM_ACCESS_ERR), Errc::permission);
    EXPECT_EQ(operation_error(IBV_WC_LOC_PROT_ERR), Errc::permission);
    EXPECT_EQ(operation_error(IBV_WC_LOC_LEN_ERR), Errc::protocol);
    EXPECT_EQ(operation_error(IBV_WC_REM_INV_REQ_ERR), Errc::protocol);
    EXPECT_EQ(operation_error(IBV_WC_RETRY_EXC_ERR), Errc::peer_lost);
    EXPECT_EQ(operation_error(IBV_WC_RNR_RETRY_EXC_ERR), Errc::peer_lost);
    EXPECT_EQ(operation_error(IBV_WC_WR_FLUSH_ERR), Errc::peer_lost);
    EXPECT_EQ(operation_error(IBV_WC_FATAL_ERR), Errc::io);
}

TEST(Completion, ARefusedAccessIsTheOperationsOwnTheLossIsEverybodys) {
    EXPECT_EQ(session_error(IBV_WC_REM_ACCESS_ERR), Errc::peer_lost);
    EXPECT_EQ(session_error(IBV_WC_RETRY_EXC_ERR), Errc::peer_lost);
    EXPECT_EQ(session_error(IBV_WC_FATAL_ERR), Errc::io);
    EXPECT_EQ(session_error(IBV_WC_REM_INV_REQ_ERR), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::verbs
