// SPDX-License-Identifier: BSD-3-Clause
// Memory of devices as far memory: `Region::of_far(device_memory(MemoryKind::cuda, address, bytes), access)`. It is
// copied through pinned buffers on streams of its own, several chunks at once, and never on the streams of the program:
// synchronize what has written it before it is lent, pushed from or pulled into, and read it after the transfer or call
// has ended.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/far_memory.hpp>

#include <memory>

namespace cinnabar::bulk {

// The `bytes` at `address`, of the caller's allocation, which must live, with its context, until the last region of it
// is gone. The driver is loaded at the first call. unsupported: no kind of device, or no driver for it here.
// invalid_argument: not memory of a device, or not so much of it. io: the driver refuses; its own name of the error is
// in the subject. overloaded: the system has no threads.
[[nodiscard]] CINNABAR_API Result<std::shared_ptr<FarMemory>> device_memory(MemoryKind kind, void* address,
                                                                            std::uint64_t bytes);

}  // namespace cinnabar::bulk
