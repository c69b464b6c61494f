// SPDX-License-Identifier: BSD-3-Clause
// Slots of a queue whose device refuses what is posted. What libibverbs would do is done here: no hardware is asked.
#include "receive_slots.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

namespace cinnabar::verbs {
namespace {

bool refuses = false;

int post(ibv_srq*, ibv_recv_wr* wanted, ibv_recv_wr** refused) {
    *refused = wanted;
    return refuses ? ENOMEM : 0;
}

ibv_context context{};
ibv_srq queue{};
ibv_mr registration{};

}  // namespace
}  // namespace cinnabar::verbs

extern "C" {
ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) {
    using namespace cinnabar::verbs;
    context.ops.post_srq_recv = &post;
    queue.context = &context;
    return &queue;
}
int ibv_destroy_srq(ibv_srq*) { return 0; }
ibv_mr*(ibv_reg_mr)(ibv_pd*, void*, std::size_t, int) { return &cinnabar::verbs::registration; }
ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) {
    return &cinnabar::verbs::registration;
}
int ibv_dereg_mr(ibv_mr*) { return 0; }
}

namespace cinnabar::verbs {
namespace {

TEST(ReceiveSlotsTest, WhatTheDeviceRefusesIsPromisedToNobody) {
    // Only handed on, to the functions above.
    alignas(Device) std::array<std::byte, sizeof(Device)> nothing{};
    ReceiveSlots slots(*reinterpret_cast<const Device*>(nothing.data()), 64, 64, 8);
    ASSERT_TRUE(slots.open().ok());
    refuses = true;
    EXPECT_EQ(slots.promise(8), Errc::io);
    EXPECT_EQ(slots.promised(), 0u);
    refuses = false;
    EXPECT_EQ(slots.promise(64), Errc::ok) << "what was refused takes room of nobody";
    EXPECT_EQ(slots.promised(), 64u);
}

}  // namespace
}  // namespace cinnabar::verbs
