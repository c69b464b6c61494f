// SPDX-License-Identifier: BSD-3-Clause
// This side's memory for bulk transfers: slots of equal size, each a region. One thread.
#pragma once

#include "perf/bulk_load.hpp"

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/node.hpp>

#include <cstdint>
#include <vector>

namespace cinnabar::tools::perf {

class Slots {
  public:
    // Errors of Region.
    [[nodiscard]] static Result<Slots> make(const hl::NodeRef& node, const BulkShape& shape, std::uint32_t count);

    [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(regions_.size()); }
    [[nodiscard]] const bulk::Region& at(std::uint32_t slot) const { return regions_[slot]; }
    // Fills every slot, or the given one, with the pattern of `seed` + the slot's number.
    void fill(std::uint64_t seed);
    void fill(std::uint32_t slot, std::uint64_t seed);
    // Whether the slot has that pattern.
    [[nodiscard]] bool has(std::uint32_t slot, std::uint64_t seed);

  private:
    explicit Slots(std::uint64_t bytes) : scratch_(bytes) {}

    std::vector<std::byte> memory_;
    std::vector<bulk::Region> regions_;
    std::vector<std::byte> scratch_;  // for one slot, if slots have several segments
};

}  // namespace cinnabar::tools::perf
