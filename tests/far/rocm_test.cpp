// SPDX-License-Identifier: BSD-3-Clause
// What differs from CUDA; in the long plan cuda_test.cpp and gpu_processes_test.cpp run on HIP as well.
#include "fake_cuda.hpp"
#include "gpu_processes.hpp"

#include <cstdlib>

namespace cinnabar {
namespace {

using namespace test;

class RocmTest : public GpuProcessesFixture {
  protected:
    // Of the simulated runtime.
    template <typename F>
    [[nodiscard]] static F* function(const char* name) {
        return reinterpret_cast<F*>(::dlsym(::dlopen(gpu_library, RTLD_NOW | RTLD_LOCAL), name));
    }
};

TEST_F(RocmTest, BetweenTwoProcessesItGoesThroughTheHost) {
    const FakeCudaCounts before = fake_cuda_counts();
    start(mib);
    write_mine(1);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), mib);
    EXPECT_TRUE(ask(peer_holds, 1));
    EXPECT_EQ(fake_cuda_counts().opens, before.opens);
    EXPECT_GT(fake_cuda_counts().copies, before.copies);
}

TEST_F(RocmTest, AllocationsOfMoreThanFourGiBAreWhole) {
    const std::size_t bytes = (std::size_t{5} << 30) + 1000;
    const GpuMemory memory(gpu_, bytes);
    auto* const end = static_cast<std::byte*>(memory.address()) + bytes;
    EXPECT_TRUE(device_memory(gpu_kind, memory.address(), bytes).ok());
    EXPECT_TRUE(device_memory(gpu_kind, end - 1000, 1000).ok());
    EXPECT_EQ(device_memory(gpu_kind, end - 1000, 1001).code(), Errc::invalid_argument);
}

TEST_F(RocmTest, TheDeviceOfTheThreadStaysTheSame) {
    const auto set_device = function<int(int)>("hipSetDevice");
    const auto get_device = function<int(int*)>("hipGetDevice");
    const GpuMemory memory(gpu_, mib);
    set_device(3);
    std::vector<std::byte> copy(mib);
    {
        const auto far = device_memory(gpu_kind, memory.address(), mib).value();
        EXPECT_EQ(far->load(0, copy).code, Errc::ok);
    }
    int device = 0;
    get_device(&device);
    EXPECT_EQ(device, 3);
    set_device(0);
}

// In a process of its own, since the driver is loaded once.
TEST(RocmVersion, BeforeSixAnotherNumberMeansDeviceMemory) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto accepted = [](const char* version) {
        ::setenv("FAKE_HIP_VERSION", version, 1);
        Gpu gpu;
        const GpuMemory memory(gpu, 1000);
        std::_Exit(device_memory(gpu_kind, memory.address(), 1000).ok() ? 0 : 1);
    };
    EXPECT_EXIT(accepted("5"), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(accepted("6"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cinnabar
