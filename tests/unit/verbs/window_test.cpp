// SPDX-License-Identifier: BSD-3-Clause
// Memory windows and their requests, with a device whose functions are stand-ins.
#include "window.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace cinnabar::verbs {
namespace {

// A device with one window.
class FakeDevice {
  public:
    FakeDevice() {
        context_.ops.alloc_mw = [](ibv_pd* domain, ibv_mw_type type) -> ibv_mw* {
            auto& device = *reinterpret_cast<FakeDevice*>(domain->context->abi_compat);
            errno = ENOMEM;
            if (type != IBV_MW_TYPE_2 || device.taken_) return nullptr;
            device.taken_ = true;
            return &device.window_;
        };
        context_.ops.dealloc_mw = [](ibv_mw* window) {
            reinterpret_cast<FakeDevice*>(window->context->abi_compat)->taken_ = false;
            return 0;
        };
        context_.abi_compat = this;
        window_.context = domain_.context = &context_;
    }
    [[nodiscard]] ibv_pd& domain() noexcept { return domain_; }
    [[nodiscard]] bool taken() const noexcept { return taken_; }

  private:
    ibv_context context_{};
    ibv_pd domain_{};
    ibv_mw window_{};
    bool taken_ = false;
};

TEST(Windows, AreMadeAndFreed) {
    FakeDevice device;
    {
        const Window window = make_window(device.domain());
        ASSERT_TRUE(window);
        EXPECT_TRUE(device.taken());
        errno = 0;
        EXPECT_FALSE(make_window(device.domain())) << "the device has no more";
        EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_FALSE(device.taken());
}

TEST(Windows, TheKeyIsTheDevicesInItsUpperBitsAndRandomInTheOthers) {
    ibv_mw window{};
    window.rkey = 0x1234'56ff;
    std::set<std::uint32_t> keys;
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t key = bound_key(window);
        EXPECT_EQ(key >> 8, 0x12'3456u);
        EXPECT_NE(key, window.rkey) << "a device refuses to bind a window under the key that it has";
        keys.insert(key);
    }
    EXPECT_GT(keys.size(), 100u);
}

TEST(Windows, ARequestBindsOneToItsPartOfARegistration) {
    ibv_mw window{};
    ibv_mr registration{};
    ibv_send_wr request{};
    request.num_sge = 3;
    build_bind(window, {0x1000, 64, 0x77}, registration, IBV_ACCESS_REMOTE_READ, request);
    EXPECT_EQ(request.opcode, IBV_WR_BIND_MW);
    EXPECT_EQ(request.num_sge, 0);
    EXPECT_EQ(request.bind_mw.mw, &window);
    EXPECT_EQ(request.bind_mw.rkey, 0x77u);
    EXPECT_EQ(request.bind_mw.bind_info.mr, &registration);
    EXPECT_EQ(request.bind_mw.bind_info.addr, 0x1000u);
    EXPECT_EQ(request.bind_mw.bind_info.length, 64u);
    EXPECT_EQ(request.bind_mw.bind_info.mw_access_flags, unsigned{IBV_ACCESS_REMOTE_READ});
}

}  // namespace
}  // namespace cinnabar::verbs
