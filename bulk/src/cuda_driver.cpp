// SPDX-License-Identifier: BSD-3-Clause
// CUDA's driver API, for NVIDIA devices.
#include "driver_library.hpp"
#include "gpu_driver.hpp"

namespace cinnabar::bulk::gpu {
namespace {

constexpr const char* cuda_libraries[] = {"libcuda.so.1"};

// The versioned names are those of CUDA 4.0 and later.
void find_cuda(DriverLibrary& library, Driver& driver) {
    library.find(driver.init, "cuInit");
    library.find(driver.pointer_attribute, "cuPointerGetAttribute");
    library.find(driver.primary_retain, "cuDevicePrimaryCtxRetain");
    library.find(driver.primary_release, "cuDevicePrimaryCtxRelease_v2");
    library.find(driver.context_push, "cuCtxPushCurrent_v2");
    library.find(driver.context_pop, "cuCtxPopCurrent_v2");
    library.find(driver.stream_create, "cuStreamCreate");
    library.find(driver.stream_destroy, "cuStreamDestroy_v2");
    library.find(driver.stream_synchronize, "cuStreamSynchronize");
    library.find(driver.copy_to_device, "cuMemcpyHtoDAsync_v2");
    library.find(driver.copy_to_host, "cuMemcpyDtoHAsync_v2");
    library.find(driver.host_register, "cuMemHostRegister_v2");
    library.find(driver.host_unregister, "cuMemHostUnregister");
    library.find(driver.error_name, "cuGetErrorName");
    library.find_if_there(driver.address_range, "cuMemGetAddressRange_v2");
    library.find_if_there(driver.copy_on_device, "cuMemcpyDtoDAsync_v2");
    library.find_if_there(driver.ipc_get_handle, "cuIpcGetMemHandle");
    library.find_if_there(driver.ipc_open_handle, "cuIpcOpenMemHandle_v2");
    if (!driver.ipc_open_handle) library.find_if_there(driver.ipc_open_handle, "cuIpcOpenMemHandle");  // before CUDA 11
    library.find_if_there(driver.ipc_close_handle, "cuIpcCloseMemHandle");
}

Result<const Driver*> open_cuda() {
    DriverLibrary library(cuda_libraries);
    if (!library.is_open())
        return Error(Errc::unsupported, "no CUDA driver here: install NVIDIA's, or use host memory", library.why());
    static Driver kept;
    kept = Driver();
    kept.kind = MemoryKind::cuda;
    find_cuda(library, kept);
    if (const char* const missing = library.missing())
        return Error(Errc::unsupported, "the CUDA driver here is too old: it lacks a function", missing);
    if (const Code code = kept.init(0); code != success)
        return Error(Errc::io, "the CUDA driver does not start: check nvidia-smi", kept.name_of(code));
    return &kept;
}

}  // namespace

Result<const Driver*> cuda_driver() {
    static OpenedOnce<Driver> opened;
    return opened.get(open_cuda);
}

}  // namespace cinnabar::bulk::gpu
