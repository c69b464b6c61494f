// SPDX-License-Identifier: BSD-3-Clause
// The translation of operations to work requests, without a device.
#include "work_request.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <vector>

namespace cinnabar::verbs {
namespace {

DeviceTraits roce() {
    DeviceTraits traits;
    traits.send_pieces_max = traits.read_pieces_max = op_pieces_max;
    return traits;
}
DeviceTraits iwarp() {
    DeviceTraits traits = roce();
    traits.iwarp = true;
    traits.read_pieces_max = 1;
    return traits;
}

const RemoteAddress remote{0x1000, 7};
const SpecialPieces special{{0xaaaa, 16, 0}, {0xbbbb, 8, 9}, {0x2000, 12}};
const std::vector<ibv_sge> pieces{{0x10, 100, 1}, {0x20, 50, 2}, {0x30, 25, 3}};

std::vector<const ibv_send_wr*> chain(const WorkRequests& work) {
    std::vector<const ibv_send_wr*> all;
    for (const ibv_send_wr* at = work.count ? &work.requests[0] : nullptr; at; at = at->next) all.push_back(at);
    EXPECT_EQ(all.size(), work.count);
    return all;
}

na::Op& op_of(na::Op& op, na::OpKind kind) {
    op.kind = kind;
    op.notify = 0x1234'5678;
    return op;
}

TEST(WorkRequests, AGetIsOneReadOfAllPieces) {
    na::Op op;
    WorkRequests work;
    build_rma(op_of(op, na::OpKind::get), remote, pieces, special, roce(), work);
    const auto all = chain(work);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]->opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(all[0]->num_sge, 3);
    EXPECT_EQ(all[0]->wr.rdma.remote_addr, 0x1000u);
    EXPECT_EQ(all[0]->wr.rdma.rkey, 7u);
    EXPECT_EQ(work.reads, 1u);
    EXPECT_EQ(reads_of(op, remote, pieces, roce()), work.reads);
}

TEST(WorkRequests, OrOneForEachPieceWhereTheDeviceTakesNoMore) {
    na::Op op;
    WorkRequests work;
    build_rma(op_of(op, na::OpKind::get), remote, pieces, special, iwarp(), work);
    const auto all = chain(work);
    ASSERT_EQ(all.size(), 3u);
    std::uint64_t address = 0x1000;
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i]->opcode, IBV_WR_RDMA_READ);
        ASSERT_EQ(all[i]->num_sge, 1);
        EXPECT_EQ(all[i]->sg_list->addr, pieces[i].addr);
        EXPECT_EQ(all[i]->wr.rdma.remote_addr, address);
        address += pieces[i].length;
    }
    EXPECT_EQ(reads_of(op, remote, pieces, iwarp()), 3u);
}

TEST(WorkRequests, ShortMessagesAcrossTwoPagesAreAvoidedWhereTheDeviceGarblesThem) {
    DeviceTraits traits = iwarp();
    traits.garbles_short_messages = true;
    na::Op op;
    WorkRequests work;
    const RemoteAddress there{0x2000 - 17, 7};
    const std::vector<ibv_sge> local{{0x100, 27, 1}, {0x200, short_message_bytes_max, 2}, {0x300, 5000, 3}};
    build_rma(op_of(op, na::OpKind::get), there, local, special, traits, work);
    const auto all = chain(work);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(work.reads, 4u);
    EXPECT_EQ(reads_of(op, there, local, traits), 4u);
    EXPECT_EQ(all[0]->wr.rdma.remote_addr, 0x2000u - 17);
    EXPECT_EQ(all[0]->sg_list->length, 17u);
    EXPECT_EQ(all[1]->wr.rdma.remote_addr, 0x2000u);
    EXPECT_EQ(all[1]->sg_list->addr, 0x100u + 17);
    EXPECT_EQ(all[1]->sg_list->length, 10u);
    EXPECT_EQ(all[1]->sg_list->lkey, 1u);
    EXPECT_EQ(all[2]->wr.rdma.remote_addr, 0x2000u + 10);
    EXPECT_EQ(all[2]->sg_list->length, short_message_bytes_max);
    EXPECT_EQ(all[3]->sg_list->length, 5000u);

    for (const std::uint64_t bytes : {short_message_bytes_max, short_message_bytes_max + 1}) {
        const std::vector<ibv_sge> piece{{0x100, static_cast<std::uint32_t>(bytes), 1}};
        op_of(op, na::OpKind::put).bytes = bytes;
        build_rma(op, there, piece, special, traits, work);
        const bool inlined = (work.requests[0].send_flags & IBV_SEND_INLINE) != 0;
        EXPECT_EQ(inlined, bytes <= short_message_bytes_max);
    }
}

TEST(WorkRequests, AReadOfNothingReadsTheBeacon) {
    na::Op op;
    WorkRequests work;
    for (const DeviceTraits& traits : {roce(), iwarp()}) {
        build_rma(op_of(op, na::OpKind::get), remote, {}, special, traits, work);
        const auto all = chain(work);
        ASSERT_EQ(all.size(), 1u);
        ASSERT_EQ(all[0]->num_sge, 1);
        EXPECT_EQ(all[0]->sg_list->lkey, 9u);
        EXPECT_EQ(all[0]->wr.rdma.remote_addr, 0x2000u);
        EXPECT_EQ(reads_of(op, remote, {}, traits), 1u);
    }
    ibv_sge bin = special.bin;
    ibv_send_wr probe;
    build_probe(bin, special.beacon, probe);
    EXPECT_EQ(probe.opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(probe.num_sge, 1);
}

TEST(WorkRequests, APutIsOneWrite) {
    na::Op op;
    WorkRequests work;
    build_rma(op_of(op, na::OpKind::put), remote, pieces, special, roce(), work);
    const auto all = chain(work);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]->opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(work.reads, 0u);
    EXPECT_EQ(reads_of(op, remote, pieces, roce()), 0u);
    EXPECT_FALSE(takes_credit(op));
}

TEST(WorkRequests, ANotificationIsTheImmediate) {
    na::Op op;
    WorkRequests work;
    build_rma(op_of(op, na::OpKind::put_notify), remote, {}, special, roce(), work);
    const auto all = chain(work);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(ntohl(all[0]->imm_data), 0x1234'5678u);
    EXPECT_EQ(all[0]->num_sge, 0);
    EXPECT_TRUE(takes_credit(op));
}

TEST(WorkRequests, OnIwarpAPutIsDoneWhenAReadBehindItIsAnswered) {
    na::Op op;
    WorkRequests work;
    build_rma(op_of(op, na::OpKind::put), remote, pieces, special, iwarp(), work);
    auto all = chain(work);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]->opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(all[1]->opcode, IBV_WR_RDMA_READ);
    EXPECT_EQ(all[1]->sg_list->lkey, 9u);
    EXPECT_EQ(all[1]->wr.rdma.rkey, 12u);
    EXPECT_EQ(reads_of(op, remote, pieces, iwarp()), 1u);

    build_rma(op_of(op, na::OpKind::put_notify), remote, pieces, special, iwarp(), work);
    all = chain(work);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0]->opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(all[0]->num_sge, 3);
    EXPECT_EQ(all[1]->opcode, IBV_WR_SEND);
    EXPECT_EQ(all[1]->sg_list->addr, 0xaaaau);
    EXPECT_EQ(all[1]->send_flags, unsigned{IBV_SEND_INLINE});
    EXPECT_EQ(all[2]->opcode, IBV_WR_RDMA_READ);
}

TEST(WorkRequests, Atomics) {
    na::Op op;
    op.operand = 5;
    op.compare = 6;
    WorkRequests work;
    const ibv_sge cell{0x40, 8, 4};
    build_atomic(op_of(op, na::OpKind::fetch_add), remote, cell, work);
    ASSERT_EQ(chain(work).size(), 1u);
    EXPECT_EQ(work.requests[0].opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
    EXPECT_EQ(work.requests[0].wr.atomic.compare_add, 5u);
    EXPECT_EQ(work.requests[0].wr.atomic.remote_addr, 0x1000u);
    EXPECT_EQ(work.requests[0].sg_list->addr, 0x40u);
    build_atomic(op_of(op, na::OpKind::compare_swap), remote, cell, work);
    EXPECT_EQ(work.requests[0].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
    EXPECT_EQ(work.requests[0].wr.atomic.compare_add, 6u);
    EXPECT_EQ(work.requests[0].wr.atomic.swap, 5u);
    EXPECT_EQ(reads_of(op, remote, {}, roce()), 1u);
}

}  // namespace
}  // namespace cinnabar::verbs
