// SPDX-License-Identifier: BSD-3-Clause
// HIP, for AMD devices. Handles between processes (hipIpcOpenMemHandle) are not used, because closing a handle waits
// for all work of the device, including the program's own work.
#include "driver_library.hpp"
#include "gpu_driver.hpp"

namespace cinnabar::bulk::gpu {
namespace {

// One for each major version of ROCm.
constexpr const char* hip_libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
constexpr int version_of_rocm_6 = 60'000'000;  // hipRuntimeGetVersion: major * 10^7 + minor * 10^5 + patch

void find_hip(DriverLibrary& library, Driver& driver) {
    library.find(driver.init, "hipInit");
    library.find(driver.pointer_attribute, "hipPointerGetAttribute");
    library.find(driver.primary_retain, "hipDevicePrimaryCtxRetain");
    library.find(driver.primary_release, "hipDevicePrimaryCtxRelease");
    library.find(driver.context_push, "hipCtxPushCurrent");
    library.find(driver.context_pop, "hipCtxPopCurrent");
    library.find(driver.stream_create, "hipStreamCreateWithFlags");
    library.find(driver.stream_destroy, "hipStreamDestroy");
    library.find(driver.stream_synchronize, "hipStreamSynchronize");
    library.find(driver.copy_to_device, "hipMemcpyHtoDAsync");
    library.find(driver.copy_to_host, "hipMemcpyDtoHAsync");
    library.find(driver.host_register, "hipHostRegister");
    library.find(driver.host_unregister, "hipHostUnregister");
    library.find(driver.error_text, "hipGetErrorName");
    library.find(driver.address_range, "hipMemGetAddressRange");
    library.find(driver.device_get, "hipGetDevice");
    library.find(driver.device_set, "hipSetDevice");
}

Result<const Driver*> open_hip() {
    DriverLibrary library(hip_libraries);
    if (!library.is_open())
        return Error(Errc::unsupported, "no HIP runtime here: install ROCm's, or use host memory", library.why());
    static Driver kept;
    kept = Driver();
    kept.kind = MemoryKind::rocm;
    find_hip(library, kept);
    Code (*get_version)(int*) = nullptr;
    library.find(get_version, "hipRuntimeGetVersion");
    if (const char* const missing = library.missing())
        return Error(Errc::unsupported, "the HIP runtime here is too old: it lacks a function", missing);
    int version = 0;
    Code code = kept.init(0);
    if (code == success) code = get_version(&version);
    if (code != success) return Error(Errc::io, "the HIP runtime does not start: check rocminfo", kept.name_of(code));
    if (version < version_of_rocm_6) kept.memory_type_device = 1;
    return &kept;
}

}  // namespace

Result<const Driver*> hip_driver() {
    static OpenedOnce<Driver> opened;
    return opened.get(open_hip);
}

}  // namespace cinnabar::bulk::gpu
