// SPDX-License-Identifier: BSD-3-Clause
// The part of NVIDIA's driver API that copies need, from libcuda.so.1, which is loaded at the first use. The prototypes
// are our own, written from the CUDA driver API reference, so no toolkit is needed to build.
#pragma once

#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::bulk::cuda {

using Code = int;  // CUresult
inline constexpr Code success = 0;
inline constexpr Code code_out_of_memory = 2;
using DeviceNumber = int;             // CUdevice
using DeviceAddress = std::uint64_t;  // CUdeviceptr
using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;

// CUpointer_attribute
enum class Attribute : int { context = 1, memory_type = 2, device_ordinal = 9, range_start = 11, range_bytes = 12 };
inline constexpr unsigned memory_type_device = 2;      // CU_MEMORYTYPE_DEVICE
inline constexpr unsigned stream_non_blocking = 1;     // CU_STREAM_NON_BLOCKING
inline constexpr unsigned host_register_portable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr unsigned ipc_lazy_peer_access = 1;    // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

// CUipcMemHandle
struct IpcBytes {
    char reserved[64];
};

struct Driver {
    Code (*init)(unsigned flags);
    Code (*pointer_attribute)(void* value, int attribute, DeviceAddress address);
    Code (*primary_retain)(Context* context, DeviceNumber device);
    Code (*primary_release)(DeviceNumber device);
    Code (*context_push)(Context context);
    Code (*context_pop)(Context* context);
    Code (*stream_create)(Stream* stream, unsigned flags);
    Code (*stream_destroy)(Stream stream);
    Code (*stream_synchronize)(Stream stream);
    Code (*copy_to_device)(DeviceAddress to, const void* from, std::size_t bytes, Stream stream);
    Code (*copy_to_host)(void* to, DeviceAddress from, std::size_t bytes, Stream stream);
    Code (*host_register)(void* memory, std::size_t bytes, unsigned flags);
    Code (*host_unregister)(void* memory);
    Code (*error_name)(Code code, const char** name);
    // For copies between processes; null where the driver lacks one.
    Code (*address_range)(DeviceAddress* start, std::size_t* bytes, DeviceAddress address);
    Code (*copy_on_device)(DeviceAddress to, DeviceAddress from, std::size_t bytes, Stream stream);
    Code (*ipc_get_handle)(IpcBytes* handle, DeviceAddress start);
    Code (*ipc_open_handle)(DeviceAddress* start, IpcBytes handle, unsigned flags);
    Code (*ipc_close_handle)(DeviceAddress start);
    [[nodiscard]] bool has_ipc() const noexcept {
        return address_range && copy_on_device && ipc_get_handle && ipc_open_handle && ipc_close_handle;
    }

    // Static storage; "unknown error" if the driver has no name for it.
    [[nodiscard]] const char* name_of(Code code) const noexcept;
};

// Loads and initializes the driver, once; it is never unloaded. unsupported: no driver, or one that is too old; io: it
// does not initialize. After a failure the next call tries again.
[[nodiscard]] Result<const Driver*> driver();

}  // namespace cinnabar::bulk::cuda
