// SPDX-License-Identifier: BSD-3-Clause
// The memory of each kind of device, and the threads that copy it. Errors as device_memory().
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/far_memory.hpp>

#include <cstdint>
#include <memory>

namespace cinnabar::bulk {

namespace gpu {
struct Driver;
}

// Requires: an address and at least one byte.
[[nodiscard]] Result<std::shared_ptr<FarMemory>> gpu_memory(const gpu::Driver& driver, void* address,
                                                            std::uint64_t bytes);
[[nodiscard]] Result<std::shared_ptr<FarMemory>> ze_memory(void* address, std::uint64_t bytes);

// Four threads, shared by all devices, keep up to four copies in flight. overloaded: the system can start none.
[[nodiscard]] Result<WorkThreads*> device_threads();

}  // namespace cinnabar::bulk
