// SPDX-License-Identifier: BSD-3-Clause
// This side's memory for bulk transfers: slots of equal size, each a region. One thread.
#pragma once

#include "perf/bulk_load.hpp"
#include "perf/device_block.hpp"

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/node.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cinnabar::tools::perf {

class Slots {
  public:
    // Errors of Region and DeviceBlock; of files also no_space, permission, io.
    [[nodiscard]] static Result<Slots> make(const hl::NodeRef& node, const BulkShape& shape, std::uint32_t count);

    [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(regions_.size()); }
    [[nodiscard]] const bulk::Region& at(std::uint32_t slot) const { return regions_[slot]; }
    // Fills every slot, or the given slot, with the pattern of `seed` + the slot's number. Fails only for memory of a
    // file or a device, with errors of FarMemory.
    [[nodiscard]] Result<void> fill(std::uint64_t seed);
    [[nodiscard]] Result<void> fill(std::uint32_t slot, std::uint64_t seed);
    // Whether the slot has the pattern of `seed` + the slot's number. Errors: as fill().
    [[nodiscard]] Result<bool> has(std::uint32_t slot, std::uint64_t seed);

  private:
    explicit Slots(std::uint64_t bytes) : scratch_(bytes) {}
    // Makes a slot of each `bytes` bytes of the region.
    void divide(const bulk::Region& all, std::uint64_t bytes, std::uint32_t count);

    std::vector<std::byte> memory_;
    std::unique_ptr<DeviceBlock> device_;  // outlives its regions
    std::vector<bulk::Region> regions_;
    std::vector<std::byte> scratch_;  // for one slot, if slots are not one range of addresses
};

}  // namespace cinnabar::tools::perf
