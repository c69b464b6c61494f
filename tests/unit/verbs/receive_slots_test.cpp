// SPDX-License-Identifier: BSD-3-Clause
// Receive slots of a device that refuses posts. The test stands in for rdma-core, so that no hardware is needed.
#include "receive_slots.hpp"

#include "rdma_library.hpp"

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

RdmaLibrary without_hardware() {
    RdmaLibrary library;
    library.create_srq = [](ibv_pd*, ibv_srq_init_attr*) {
        context.ops.post_srq_recv = &post;
        queue.context = &context;
        return &queue;
    };
    library.destroy_srq = [](ibv_srq*) { return 0; };
    library.reg_mr = [](ibv_pd*, void*, std::size_t, int) { return &registration; };
    library.dereg_mr = [](ibv_mr*) { return 0; };
    return library;
}

}  // namespace

const RdmaLibrary& rdma() noexcept {
    static const RdmaLibrary library = without_hardware();
    return library;
}

namespace {

TEST(ReceiveSlotsTest, SlotsThatTheDeviceRefusesAreNotPromised) {
    // Only passed on to the functions above.
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
