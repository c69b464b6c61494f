// SPDX-License-Identifier: BSD-3-Clause
#include "device_kinds.hpp"
#include "gpu_driver.hpp"
#include "lasting_threads.hpp"

#include <cinnabar/bulk/device_memory.hpp>

namespace cinnabar::bulk {

Result<WorkThreads*> device_threads() {
    static constinit LastingThreads threads(4);
    WorkThreads* const started = threads.get();
    if (!started) return Error(Errc::overloaded, "the system can start no threads for copies");
    return started;
}

Result<std::shared_ptr<FarMemory>> device_memory(MemoryKind kind, void* address, std::uint64_t bytes) {
    if (!address || bytes == 0) return Error(Errc::invalid_argument, "a region needs at least one byte");
    const gpu::Driver* driver = nullptr;
    switch (kind) {
        case MemoryKind::cuda: {
            CINNABAR_TRY(driver, gpu::cuda_driver());
            return gpu_memory(*driver, address, bytes);
        }
        case MemoryKind::rocm: {
            CINNABAR_TRY(driver, gpu::hip_driver());
            return gpu_memory(*driver, address, bytes);
        }
        case MemoryKind::level_zero:
            return ze_memory(address, bytes);
        case MemoryKind::host:
        case MemoryKind::file:
            break;
    }
    return Error(Errc::unsupported, "not the memory of a known device");
}

}  // namespace cinnabar::bulk
