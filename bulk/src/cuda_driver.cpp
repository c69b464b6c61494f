// SPDX-License-Identifier: BSD-3-Clause
#include "cuda_driver.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <type_traits>

namespace cinnabar::bulk::cuda {
namespace {

constexpr const char* library = "libcuda.so.1";

// The versioned names are those of CUDA 4.0 and later.
Result<Driver> load(void* loaded) {
    Driver driver{};
    const char* missing = nullptr;
    const auto find_if_there = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(loaded, name));
    };
    const auto find = [&](auto& function, const char* name) {
        find_if_there(function, name);
        if (!function && !missing) missing = name;
    };
    find(driver.init, "cuInit");
    find(driver.pointer_attribute, "cuPointerGetAttribute");
    find(driver.primary_retain, "cuDevicePrimaryCtxRetain");
    find(driver.primary_release, "cuDevicePrimaryCtxRelease_v2");
    find(driver.context_push, "cuCtxPushCurrent_v2");
    find(driver.context_pop, "cuCtxPopCurrent_v2");
    find(driver.stream_create, "cuStreamCreate");
    find(driver.stream_destroy, "cuStreamDestroy_v2");
    find(driver.stream_synchronize, "cuStreamSynchronize");
    find(driver.copy_to_device, "cuMemcpyHtoDAsync_v2");
    find(driver.copy_to_host, "cuMemcpyDtoHAsync_v2");
    find(driver.host_register, "cuMemHostRegister_v2");
    find(driver.host_unregister, "cuMemHostUnregister");
    find(driver.error_name, "cuGetErrorName");
    find_if_there(driver.address_range, "cuMemGetAddressRange_v2");
    find_if_there(driver.copy_on_device, "cuMemcpyDtoDAsync_v2");
    find_if_there(driver.ipc_get_handle, "cuIpcGetMemHandle");
    find_if_there(driver.ipc_open_handle, "cuIpcOpenMemHandle_v2");
    if (!driver.ipc_open_handle) find_if_there(driver.ipc_open_handle, "cuIpcOpenMemHandle");  // before CUDA 11
    find_if_there(driver.ipc_close_handle, "cuIpcCloseMemHandle");
    if (missing) return Error(Errc::unsupported, "the CUDA driver here is too old: it lacks a function", missing);
    return driver;
}

Result<const Driver*> open() {
    void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!loaded) {
        const char* const why = ::dlerror();
        return Error(Errc::unsupported, "no CUDA driver here: install NVIDIA's, or use host memory",
                     why ? why : library);
    }
    static Driver kept;
    CINNABAR_TRY(kept, load(loaded));
    if (const Code code = kept.init(0); code != success)
        return Error(Errc::io, "the CUDA driver does not start: check nvidia-smi", kept.name_of(code));
    return &kept;
}

}  // namespace

const char* Driver::name_of(Code code) const noexcept {
    const char* name = nullptr;
    return error_name(code, &name) == success && name ? name : "unknown error";
}

Result<const Driver*> driver() {
    static std::mutex mutex;
    static const Driver* started = nullptr;
    const std::lock_guard lock(mutex);
    if (started) return started;
    CINNABAR_TRY(started, open());
    return started;
}

}  // namespace cinnabar::bulk::cuda
