// SPDX-License-Identifier: BSD-3-Clause
// Memory of the first CUDA device of this host, for `cinnabar perf bulk --memory device`. Uses only CUDA's driver
// library, which is loaded when the first block is made. One thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>

#include <cstdint>
#include <memory>

namespace cinnabar::tools::perf {

class DeviceBlock {
  public:
    // unsupported: this host has no driver or no device. out_of_memory: the device has too little.
    [[nodiscard]] static Result<std::unique_ptr<DeviceBlock>> allocate(std::uint64_t bytes);
    // Requires: no handle of the region is left.
    ~DeviceBlock();
    DeviceBlock(const DeviceBlock&) = delete;
    DeviceBlock& operator=(const DeviceBlock&) = delete;

    // All of the memory, as one region. Errors of bulk::device_memory.
    [[nodiscard]] Result<bulk::Region> region() const;

  private:
    struct Driver;

    DeviceBlock(std::unique_ptr<Driver> driver, std::uintptr_t address, std::uint64_t bytes) noexcept;

    std::unique_ptr<Driver> driver_;
    std::uintptr_t address_;
    std::uint64_t bytes_;
};

}  // namespace cinnabar::tools::perf
