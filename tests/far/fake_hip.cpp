// SPDX-License-Identifier: BSD-3-Clause
// A simulated HIP runtime: a libamdhip64.so.6 that is the simulated CUDA driver under HIP's names. Tests that make
// calls fail name them as in CUDA. FAKE_HIP_VERSION=5 in the environment: as the runtime of ROCm 5.
#define cuInit hipInit
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetName hipDeviceGetName
#define cuDevicePrimaryCtxRetain hipDevicePrimaryCtxRetain
#define cuDevicePrimaryCtxRelease_v2 hipDevicePrimaryCtxRelease
#define cuCtxPushCurrent_v2 fake_hip_push
#define cuCtxPopCurrent_v2 hipCtxPopCurrent
#define cuPointerGetAttribute fake_hip_attribute
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuStreamSynchronize hipStreamSynchronize
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2 hipMemcpyDtoDAsync
#define cuMemGetAddressRange_v2 hipMemGetAddressRange
#define cuIpcGetMemHandle hipIpcGetMemHandle
#define cuIpcOpenMemHandle_v2 hipIpcOpenMemHandle
#define cuIpcCloseMemHandle hipIpcCloseMemHandle
#define cuMemHostRegister_v2 hipHostRegister
#define cuMemHostUnregister hipHostUnregister
#define cuGetErrorName fake_hip_error_name
#define cuMemAlloc_v2 hipMalloc
#define cuMemFree_v2 hipFree
#define cuMemcpyHtoD_v2 hipMemcpyHtoD
#define cuMemcpyDtoH_v2 hipMemcpyDtoH
#define cuMemcpyDtoD_v2 hipMemcpyDtoD
#define cuCtxSynchronize hipDeviceSynchronize
#include "fake_cuda.cpp"  // NOLINT(bugprone-suspicious-include)

#include <cstdlib>
#include <string_view>

namespace {
bool is_version_5() {
    const char* const version = std::getenv("FAKE_HIP_VERSION");
    return version && std::string_view(version) == "5";
}
}  // namespace

ENTRY(hipRuntimeGetVersion)(int* version) {
    *version = is_version_5() ? 50'221'153 : 60'443'484;  // of ROCm 5.2 and 6.4
    return success;
}

ENTRY(hipPointerGetAttribute)(void* value, int attribute, std::uintptr_t address) {
    if (attribute == 12) {  // the size of the allocation, of which HIP writes 32 bits
        std::size_t bytes = 0;
        const int code = fake_hip_attribute(&bytes, attribute, address);
        *static_cast<std::uint32_t*>(value) = static_cast<std::uint32_t>(bytes);
        return code;
    }
    const int code = fake_hip_attribute(value, attribute, address);
    if (code == success && attribute == 2 && is_version_5()) *static_cast<unsigned*>(value) = 1;
    return code;
}

// Pushing a context makes its device, which is 0, that of the thread; popping it restores nothing.
namespace {
thread_local int device_of_thread = 0;
}
ENTRY(hipGetDevice)(int* device) {
    *device = device_of_thread;
    return success;
}
ENTRY(hipSetDevice)(int device) {
    device_of_thread = device;
    return success;
}
ENTRY(hipCtxPushCurrent)(CUctx_st* context) {
    const int code = fake_hip_push(context);
    if (code == success) device_of_thread = 0;
    return code;
}

extern "C" __attribute__((visibility("default"))) const char* hipGetErrorName(int code) {
    const char* name = nullptr;
    return fake_hip_error_name(code, &name) == success ? name : "hipErrorUnknown";
}
