// SPDX-License-Identifier: BSD-3-Clause
// Access to memory of a GPU of another process on this host, by handles (CUDA IPC).
#pragma once

#include "gpu_context.hpp"

#include <cinnabar/bulk/far_memory.hpp>

#include <memory>

namespace cinnabar::bulk {

// Makes a handle of the allocation that contains `address`. unsupported: the driver cannot make one.
[[nodiscard]] FarEnd gpu_ipc_handle(const gpu::Driver& driver, gpu::Context context, gpu::DeviceAddress address,
                                    IpcHandle& out) noexcept;

// Memory of another process, mapped into a context. Open for one copy: the other process must not free it in between.
class GpuIpc final : public IpcMemory {
  public:
    // As FarMemory::open_ipc(). The context must live until close().
    [[nodiscard]] static std::unique_ptr<IpcMemory> open(const gpu::Driver& driver, gpu::Context context,
                                                         const IpcHandle& handle, std::uint64_t bytes,
                                                         FarEnd& end) noexcept;
    GpuIpc(const gpu::Driver& driver, gpu::Context context) noexcept : driver_(driver), context_(context) {}
    // io: the driver failed to close it.
    [[nodiscard]] FarEnd close() noexcept override;
    [[nodiscard]] gpu::DeviceAddress address() const noexcept { return base_ + offset_; }

  private:
    // Requires: the context is current.
    [[nodiscard]] FarEnd map(const IpcHandle& handle, std::uint64_t bytes) noexcept;
    const gpu::Driver& driver_;
    const gpu::Context context_;
    gpu::DeviceAddress base_ = 0;
    std::uint64_t offset_ = 0;
};

}  // namespace cinnabar::bulk
