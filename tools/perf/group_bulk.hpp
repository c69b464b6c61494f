// SPDX-License-Identifier: BSD-3-Clause
// The bulk calls that `cinnabar perf group` measures. Before each call its memory is filled with a new pattern, and
// after the call the memory of all receivers is compared; only the call is timed.
#pragma once

#include "perf/group_load.hpp"

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/node.hpp>

#include <memory>
#include <mutex>

namespace cinnabar::tools::perf {

// This process's memory for bulk calls, which grows as rows need it. Any thread, but only for one call at a time.
class BulkMemory {
  public:
    explicit BulkMemory(hl::NodeRef node) : node_(std::move(node)) {}

    // Returns the first `bytes` of the memory. Errors: as NodeRef::allocate.
    [[nodiscard]] Result<bulk::Region> first(std::uint64_t bytes);

  private:
    hl::NodeRef node_;
    std::mutex mutex_;
    bulk::Region region_;
};

// Serves the RPCs that the bulk rows call. exists: they are served already.
[[nodiscard]] Result<void> serve_bulk_rows(const cinnabar::group::Group& group,
                                           const std::shared_ptr<BulkMemory>& memory);
// Runs the rounds of a bulk row, at rank 0. out_of_memory.
[[nodiscard]] hl::Task<Result<GroupFigures>> run_bulk_rounds(cinnabar::group::Group group, GroupRow row,
                                                             std::shared_ptr<BulkMemory> memory);

}  // namespace cinnabar::tools::perf
