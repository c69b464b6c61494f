// SPDX-License-Identifier: BSD-3-Clause
// Device memory as far memory: `Region::of_far(device_memory(MemoryKind::cuda, address, bytes), access)`. Device memory
// is copied through pinned buffers, several chunks at once, or, between processes of one user on one host, directly by
// the device. The copies use streams of the library, never those of the program. So synchronize the stream that wrote
// the memory before you lend, push or pull the memory, and read the memory only after the transfer or call has ended.
//
// MemoryKind::cuda was tested on NVIDIA devices; `rocm` (HIP) and `level_zero` only with simulated drivers. `rocm` and
// `level_zero` always copy through the host, Level Zero through buffers that are not pinned. The Level Zero driver must
// accept memory of contexts other than the library's own, as Intel's driver does.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/far_memory.hpp>

#include <memory>

namespace cinnabar::bulk {

// Makes far memory of the `bytes` at `address`, within an allocation of the caller. The allocation and its device
// context must live as long as any region of the memory. The first call for a kind loads the driver of the kind.
// unsupported: the kind of device is unknown, or has no driver. invalid_argument: `address` is not in device memory, or
// the allocation is smaller. io: the driver failed; the error's subject is the driver's name of the failure.
// overloaded: the system cannot start threads.
[[nodiscard]] CINNABAR_API Result<std::shared_ptr<FarMemory>> device_memory(MemoryKind kind, void* address,
                                                                            std::uint64_t bytes);

}  // namespace cinnabar::bulk
