// SPDX-License-Identifier: BSD-3-Clause
// The memory of this side for bulk transfers: so many slots of one size, each a region. One thread.
#pragma once

#include "perf/bulk_load.hpp"

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/node.hpp>

#include <cstdint>
#include <vector>

namespace cinnabar::tools::perf {

class Slots {
  public:
    // Errors: those of Region.
    [[nodiscard]] static Result<Slots> make(const hl::NodeRef& node, const BulkShape& shape, std::uint32_t count);

    [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(regions_.size()); }
    [[nodiscard]] const bulk::Region& at(std::uint32_t slot) const { return regions_[slot]; }
    // Slot `i` gets the pattern of seed + i.
    void fill(std::uint64_t seed);
    // Whether it has that.
    [[nodiscard]] bool has(std::uint32_t slot, std::uint64_t seed);

  private:
    explicit Slots(std::uint64_t bytes) : scratch_(bytes) {}

    std::vector<std::byte> memory_;
    std::vector<bulk::Region> regions_;
    std::vector<std::byte> scratch_;  // of one slot, where it has several segments
};

}  // namespace cinnabar::tools::perf
