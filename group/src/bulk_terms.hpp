// SPDX-License-Identifier: BSD-3-Clause
// What the callers of bulk calls check before they begin.
#pragma once

#include "wire.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/group/bulk_options.hpp>

namespace cinnabar::group {

// invalid_argument: options out of their bounds.
[[nodiscard]] Result<Terms> terms_of(const BulkOptions& options, Way way);
// permission: the region is not for that.
// Chunks are read and written by the processor.
[[nodiscard]] Result<void> refuse_far(const bulk::Region& region);
[[nodiscard]] Result<void> check_region(const bulk::Region& region, Way way);

}  // namespace cinnabar::group
