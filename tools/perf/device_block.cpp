// SPDX-License-Identifier: BSD-3-Clause
#include "perf/device_block.hpp"

#include <cinnabar/bulk/device_memory.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace cinnabar::tools::perf {

// The functions of the driver that are used, and the primary context of the first device. The driver is never unloaded.
struct DeviceBlock::Driver {
    int (*init)(unsigned flags) = nullptr;
    int (*device_get)(int* device, int number) = nullptr;
    int (*retain)(void** context, int device) = nullptr;
    int (*release)(int device) = nullptr;
    int (*push)(void* context) = nullptr;
    int (*pop)(void** context) = nullptr;
    int (*take)(std::uintptr_t* address, std::size_t bytes) = nullptr;
    int (*give_back)(std::uintptr_t address) = nullptr;
    int device = 0;
    void* context = nullptr;

    Driver() = default;
    ~Driver() {
        if (context) (void)release(device);
    }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    // False: there is no driver, or no device.
    [[nodiscard]] bool load() {
        void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) return false;
        bool all = true;
        const auto find = [library, &all](auto& function, const char* name) {
            void* const found = ::dlsym(library, name);
            all = all && found != nullptr;
            std::memcpy(&function, &found, sizeof function);
        };
        find(init, "cuInit");
        find(device_get, "cuDeviceGet");
        find(retain, "cuDevicePrimaryCtxRetain");
        find(release, "cuDevicePrimaryCtxRelease_v2");
        find(push, "cuCtxPushCurrent_v2");
        find(pop, "cuCtxPopCurrent_v2");
        find(take, "cuMemAlloc_v2");
        find(give_back, "cuMemFree_v2");
        if (!all || init(0) != 0 || device_get(&device, 0) != 0) return false;
        if (retain(&context, device) == 0) return true;
        context = nullptr;
        return false;
    }
    // Runs `use` with the context current on this thread; the result of the driver.
    template <typename F>
    int within(F&& use) const {
        if (const int failed = push(context); failed != 0) return failed;
        const int result = use();
        void* popped = nullptr;
        (void)pop(&popped);
        return result;
    }
};

DeviceBlock::DeviceBlock(std::unique_ptr<Driver> driver, std::uintptr_t address, std::uint64_t bytes) noexcept
    : driver_(std::move(driver)), address_(address), bytes_(bytes) {}

DeviceBlock::~DeviceBlock() {
    (void)driver_->within([this] { return driver_->give_back(address_); });
}

Result<std::unique_ptr<DeviceBlock>> DeviceBlock::allocate(std::uint64_t bytes) {
    auto driver = std::make_unique<Driver>();
    if (!driver->load())
        return Error(Errc::unsupported, "this host has no CUDA device, or no driver for it (libcuda.so.1)");
    std::uintptr_t address = 0;
    if (driver->within([&] { return driver->take(&address, bytes); }) != 0)
        return Error(Errc::out_of_memory, "the first CUDA device has too little free memory: choose a smaller --size");
    return std::unique_ptr<DeviceBlock>(new DeviceBlock(std::move(driver), address, bytes));
}

Result<bulk::Region> DeviceBlock::region() const {
    void* const address = reinterpret_cast<void*>(address_);  // NOLINT(performance-no-int-to-ptr): the driver's address
    CINNABAR_TRY(auto memory, bulk::device_memory(bulk::MemoryKind::cuda, address, bytes_));
    return bulk::Region::of_far(std::move(memory), na::Access::read_write);
}

}  // namespace cinnabar::tools::perf
