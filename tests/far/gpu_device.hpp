// SPDX-License-Identifier: BSD-3-Clause
// Device memory for the checks, on the driver that is present: the real one, or the simulated one with which a test is
// linked. CUDA's, or HIP's if CINNABAR_TEST_ROCM is defined.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/bulk/device_memory.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::test {

using bulk::device_memory;
using bulk::MemoryKind;

inline constexpr std::size_t mib = std::size_t{1} << 20;

#ifdef CINNABAR_TEST_ROCM
#define CINNABAR_GPU_NAME(cuda, hip) hip
inline constexpr MemoryKind gpu_kind = MemoryKind::rocm;
#else
#define CINNABAR_GPU_NAME(cuda, hip) cuda
inline constexpr MemoryKind gpu_kind = MemoryKind::cuda;
#endif
inline constexpr const char* gpu_library = CINNABAR_GPU_NAME("libcuda.so.1", "libamdhip64.so.6");

// The first device. Its primary context is current on this thread while the object lives.
class Gpu {
  public:
    Gpu() {
        void* const loaded = ::dlopen(gpu_library, RTLD_NOW | RTLD_LOCAL);
        if (!loaded) return;
        find(loaded, init_, CINNABAR_GPU_NAME("cuInit", "hipInit"));
        find(loaded, device_get_, CINNABAR_GPU_NAME("cuDeviceGet", "hipDeviceGet"));
        find(loaded, device_name_, CINNABAR_GPU_NAME("cuDeviceGetName", "hipDeviceGetName"));
        find(loaded, retain_, CINNABAR_GPU_NAME("cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain"));
        find(loaded, release_, CINNABAR_GPU_NAME("cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease"));
        find(loaded, push_, CINNABAR_GPU_NAME("cuCtxPushCurrent_v2", "hipCtxPushCurrent"));
        find(loaded, pop_, CINNABAR_GPU_NAME("cuCtxPopCurrent_v2", "hipCtxPopCurrent"));
        find(loaded, allocate_, CINNABAR_GPU_NAME("cuMemAlloc_v2", "hipMalloc"));
        find(loaded, free_, CINNABAR_GPU_NAME("cuMemFree_v2", "hipFree"));
        find(loaded, to_device_, CINNABAR_GPU_NAME("cuMemcpyHtoD_v2", "hipMemcpyHtoD"));
        find(loaded, to_host_, CINNABAR_GPU_NAME("cuMemcpyDtoH_v2", "hipMemcpyDtoH"));
        find(loaded, on_device_, CINNABAR_GPU_NAME("cuMemcpyDtoD_v2", "hipMemcpyDtoD"));
        find(loaded, synchronize_, CINNABAR_GPU_NAME("cuCtxSynchronize", "hipDeviceSynchronize"));
        if (init_(0) != 0 || device_get_(&device_, 0) != 0 || retain_(&context_, device_) != 0) return;
        is_here_ = push_(context_) == 0;
        char name[256] = {};
        if (device_name_(name, sizeof name - 1, device_) == 0) name_ = name;
    }
    ~Gpu() {
        if (!is_here_) return;
        (void)pop_(&context_);
        (void)release_(device_);
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    [[nodiscard]] bool is_here() const { return is_here_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool is_made_up() const { return name_ == "made-up device"; }
    // Whether the device has that much free memory.
    [[nodiscard]] bool has_room(std::size_t bytes) {
        std::uintptr_t address = 0;
        return allocate_(&address, bytes) == 0 && free_(address) == 0;
    }
    // Copies and waits for the end of the copy.
    void copy(void* to, const void* from, std::size_t bytes) {
        EXPECT_EQ(on_device_(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from), bytes), 0);
        EXPECT_EQ(synchronize_(), 0);
    }
    [[nodiscard]] void* allocate(std::size_t bytes) {
        std::uintptr_t address = 0;
        EXPECT_EQ(allocate_(&address, bytes), 0);
        return reinterpret_cast<void*>(address);
    }
    void free(void* memory) { EXPECT_EQ(free_(reinterpret_cast<std::uintptr_t>(memory)), 0); }
    void write(void* memory, ConstBytes from) {
        EXPECT_EQ(to_device_(reinterpret_cast<std::uintptr_t>(memory), from.data(), from.size()), 0);
    }
    [[nodiscard]] std::vector<std::byte> read(void* memory, std::size_t bytes) {
        std::vector<std::byte> content(bytes);
        EXPECT_EQ(to_host_(content.data(), reinterpret_cast<std::uintptr_t>(memory), bytes), 0);
        return content;
    }

  private:
    template <typename F>
    static void find(void* loaded, F& function, const char* name) {
        function = reinterpret_cast<F>(::dlsym(loaded, name));
        ASSERT_NE(function, nullptr) << name;
    }
    int (*init_)(unsigned) = nullptr;
    int (*device_get_)(int*, int) = nullptr;
    int (*device_name_)(char*, int, int) = nullptr;
    int (*retain_)(void**, int) = nullptr;
    int (*release_)(int) = nullptr;
    int (*push_)(void*) = nullptr;
    int (*pop_)(void**) = nullptr;
    int (*allocate_)(std::uintptr_t*, std::size_t) = nullptr;
    int (*free_)(std::uintptr_t) = nullptr;
    int (*to_device_)(std::uintptr_t, const void*, std::size_t) = nullptr;
    int (*to_host_)(void*, std::uintptr_t, std::size_t) = nullptr;
    int (*on_device_)(std::uintptr_t, std::uintptr_t, std::size_t) = nullptr;
    int (*synchronize_)() = nullptr;
    int device_ = 0;
    void* context_ = nullptr;
    bool is_here_ = false;
    std::string name_;
};

// A buffer of the device.
class GpuMemory {
  public:
    GpuMemory(Gpu& gpu, std::size_t bytes) : gpu_(gpu), bytes_(bytes), address_(gpu.allocate(bytes)) {}
    ~GpuMemory() { gpu_.free(address_); }
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;
    [[nodiscard]] void* address() const { return address_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    void write(ConstBytes from) { gpu_.write(address_, from); }
    [[nodiscard]] std::vector<std::byte> read() { return gpu_.read(address_, bytes_); }

  private:
    Gpu& gpu_;
    const std::size_t bytes_;
    void* const address_;
};

}  // namespace cinnabar::test
