// SPDX-License-Identifier: BSD-3-Clause
// HG_Bulk_free and its fence, on a simulated network whose fences take time, fail, or never end: it does not return
// before the fence has ended. If it gives up, it returns an error and the memory stays registered.
extern "C" {
#include "both_sides.h"
}

#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace cinnabar {
namespace {

class Fence : public testing::Test {
  protected:
    void open(std::uint32_t fence_failed_one_in) {
        const sim::WorldOptions options{.profile = sim::Profile::rdma_strict,
                                        .fence_failed_one_in = fence_failed_one_in};
        world_ = sim::World::numbered(++worlds_, options);
        lender_ = open_side("lender");
    }
    [[nodiscard]] side open_side(const std::string& host) const {
        const std::string where = "na+sim://" + host + "?world=" + std::to_string(worlds_);
        side opened{};
        opened.hg_class = HG_Init(where.c_str(), HG_TRUE);
        CHECK(opened.hg_class != nullptr);
        opened.context = HG_Context_create(opened.hg_class);
        CHECK(opened.context != nullptr);
        return opened;
    }
    static void close(const side& one) {
        CHECK_OK(HG_Context_destroy(one.context));
        CHECK_OK(HG_Finalize(one.hg_class));
    }
    // A handle whose memory peers may access, because it was serialized.
    [[nodiscard]] hg_bulk_t lend() {
        hg_bulk_t bulk = HG_BULK_NULL;
        void* memory = memory_.data();
        const hg_size_t bytes = memory_.size();
        CHECK_OK(HG_Bulk_create(lender_.hg_class, 1, &memory, &bytes, HG_BULK_READWRITE, &bulk));
        std::array<char, 4096> text{};
        CHECK(HG_Bulk_get_serialize_size(bulk, 0) <= text.size());
        CHECK_OK(HG_Bulk_serialize(text.data(), text.size(), 0, bulk));
        EXPECT_EQ(leases(), 1U);
        return bulk;
    }
    // The leases through which peers can access memory now.
    [[nodiscard]] std::uint32_t leases() const { return world_->counts("lender").leases; }
    [[nodiscard]] std::uint32_t registrations() const { return world_->counts("lender").registrations; }

    std::shared_ptr<sim::World> world_;
    side lender_{};
    std::array<char, 64 * 1024> memory_{};

  private:
    static inline unsigned worlds_ = 7'000;
};

TEST_F(Fence, IsOverWhenTheHandleIsFree) {
    open(0);
    for (int i = 0; i < 20; ++i) {
        hg_bulk_t const bulk = lend();
        ASSERT_EQ(HG_Bulk_free(bulk), HG_SUCCESS);
        ASSERT_EQ(leases(), 0U) << "a peer may still use the memory";
        ASSERT_EQ(registrations(), 0U);
    }
    close(lender_);
}

TEST_F(Fence, ThatFailsIsToldAndTheMemoryStaysRegistered) {
    open(1);
    hg_bulk_t const bulk = lend();
    HG_Set_log_level("none");
    EXPECT_EQ(HG_Bulk_free(bulk), HG_TIMEOUT);
    HG_Set_log_level("warning");
    EXPECT_EQ(registrations(), 1U);
    close(lender_);
}

// The time of this network stands still while one of its hosts is not driven, so that the fence does not end.
TEST_F(Fence, ThatDoesNotComeIsWaitedForASecond) {
    open(0);
    const side idle = open_side("idle");
    hg_bulk_t const bulk = lend();
    const double began = now_ms();
    HG_Set_log_level("none");
    EXPECT_EQ(HG_Bulk_free(bulk), HG_TIMEOUT);
    HG_Set_log_level("warning");
    const double took = now_ms() - began;
    EXPECT_GE(took, 1e3);
    EXPECT_LT(took, 20e3);
    EXPECT_EQ(leases(), 1U);
    EXPECT_EQ(registrations(), 1U);
    close(idle);
    for (const double end = now_ms() + 20e3; leases() != 0 && now_ms() < end;) (void)HG_Progress(lender_.context, 10);
    EXPECT_EQ(leases(), 0U);
    close(lender_);
}

struct Freed {
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_return_t ret = HG_OTHER_ERROR;
    std::uint32_t leases_after = 99;
    sim::World* world = nullptr;
};

hg_return_t free_it(const hg_cb_info* info) {
    Freed& freed = *static_cast<Freed*>(info->arg);
    freed.ret = HG_Bulk_free(freed.bulk);
    freed.leases_after = freed.world->counts("lender").leases;
    return HG_SUCCESS;
}

// Only that thread drives the fence.
TEST_F(Fence, IsOverWhenTheEndOfItsContextFreesTheHandle) {
    open(0);
    const hg_id_t id = HG_Register_name(lender_.hg_class, "nobody answers", nullptr, nullptr, nullptr);
    Freed freed{.bulk = lend(), .world = world_.get()};
    hg_addr_t to = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Addr_lookup2(lender_.hg_class, "na+sim://somebody", &to));
    CHECK_OK(HG_Create(lender_.context, to, id, &handle));
    CHECK_OK(HG_Forward(handle, free_it, &freed, nullptr));
    CHECK_OK(HG_Destroy(handle));
    CHECK_OK(HG_Context_destroy(lender_.context));
    EXPECT_EQ(freed.ret, HG_SUCCESS);
    EXPECT_EQ(freed.leases_after, 0U);
    CHECK_OK(HG_Addr_free(lender_.hg_class, to));
    CHECK_OK(HG_Finalize(lender_.hg_class));
}

}  // namespace
}  // namespace cinnabar
