// SPDX-License-Identifier: BSD-3-Clause
// The part of a GPU driver's interface that copies need. Two vendors provide this interface under their own names:
// CUDA's driver API (libcuda) and HIP (libamdhip64), which has nearly the same functions. Each library is loaded at
// first use. The prototypes are our own, written from the CUDA driver API reference and the HIP API reference, so no
// toolkit is needed to build.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/far_memory.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::bulk::gpu {

using Code = int;  // CUresult, hipError_t
inline constexpr Code success = 0;
inline constexpr Code code_out_of_memory = 2;
using DeviceNumber = int;             // CUdevice, hipDevice_t
using DeviceAddress = std::uint64_t;  // CUdeviceptr; hipDeviceptr_t is a pointer of the same size
using Context = struct GpuContext*;   // CUcontext, hipCtx_t
using Stream = struct GpuStream*;     // CUstream, hipStream_t

// CUpointer_attribute, hipPointer_attribute
enum class Attribute : int { context = 1, memory_type = 2, device_ordinal = 9, range_start = 11, range_bytes = 12 };
inline constexpr unsigned stream_non_blocking = 1;     // CU_STREAM_NON_BLOCKING, hipStreamNonBlocking
inline constexpr unsigned host_register_portable = 1;  // CU_MEMHOSTREGISTER_PORTABLE, hipHostRegisterPortable
inline constexpr unsigned ipc_lazy_peer_access = 1;    // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

// CUipcMemHandle
struct IpcBytes {
    char reserved[64];
};

struct Driver {
    MemoryKind kind = MemoryKind::cuda;
    unsigned memory_type_device = 2;  // CU_MEMORYTYPE_DEVICE, hipMemoryTypeDevice

    Code (*init)(unsigned flags) = nullptr;
    Code (*pointer_attribute)(void* value, int attribute, DeviceAddress address) = nullptr;
    Code (*primary_retain)(Context* context, DeviceNumber device) = nullptr;
    Code (*primary_release)(DeviceNumber device) = nullptr;
    Code (*context_push)(Context context) = nullptr;
    Code (*context_pop)(Context* context) = nullptr;
    Code (*stream_create)(Stream* stream, unsigned flags) = nullptr;
    Code (*stream_destroy)(Stream stream) = nullptr;
    Code (*stream_synchronize)(Stream stream) = nullptr;
    Code (*copy_to_device)(DeviceAddress to, const void* from, std::size_t bytes, Stream stream) = nullptr;
    Code (*copy_to_host)(void* to, DeviceAddress from, std::size_t bytes, Stream stream) = nullptr;
    Code (*host_register)(void* memory, std::size_t bytes, unsigned flags) = nullptr;
    Code (*host_unregister)(void* memory) = nullptr;
    // Each driver has one of these two.
    Code (*error_name)(Code code, const char** name) = nullptr;
    const char* (*error_text)(Code code) = nullptr;
    // Get and set the current device of this thread, since HIP does not restore the device when a context is popped.
    // Null: the driver restores the device.
    Code (*device_get)(DeviceNumber* device) = nullptr;
    Code (*device_set)(DeviceNumber device) = nullptr;
    // For copies between processes; null where the driver lacks the function. With HIP, address_range also supplies the
    // size of an allocation, because the attribute for it has only 32 bits.
    Code (*address_range)(DeviceAddress* start, std::size_t* bytes, DeviceAddress address) = nullptr;
    Code (*copy_on_device)(DeviceAddress to, DeviceAddress from, std::size_t bytes, Stream stream) = nullptr;
    Code (*ipc_get_handle)(IpcBytes* handle, DeviceAddress start) = nullptr;
    Code (*ipc_open_handle)(DeviceAddress* start, IpcBytes handle, unsigned flags) = nullptr;
    Code (*ipc_close_handle)(DeviceAddress start) = nullptr;
    [[nodiscard]] bool has_ipc() const noexcept {
        return address_range && copy_on_device && ipc_get_handle && ipc_open_handle && ipc_close_handle;
    }

    // Static storage; "unknown error" if the driver has no name for it.
    [[nodiscard]] const char* name_of(Code code) const noexcept;
};

// Load and initialize a driver, once; the driver is never unloaded. unsupported: there is no driver, or the driver is
// too old. io: the driver cannot be initialized. After a failure the next call tries again.
[[nodiscard]] Result<const Driver*> cuda_driver();
[[nodiscard]] Result<const Driver*> hip_driver();

}  // namespace cinnabar::bulk::gpu
