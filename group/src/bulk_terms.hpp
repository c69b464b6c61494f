// SPDX-License-Identifier: BSD-3-Clause
// Checks the arguments of a bulk call before it starts.
#pragma once

#include "wire.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/group/bulk_options.hpp>

namespace cinnabar::group {

// invalid_argument: an option is out of bounds.
[[nodiscard]] Result<Terms> terms_of(const BulkOptions& options, Way way);
// unsupported: the region is a file or device memory; chunks are read and written by the processor.
[[nodiscard]] Result<void> refuse_far(const bulk::Region& region);
[[nodiscard]] Result<void> check_region(const bulk::Region& region, Way way);

}  // namespace cinnabar::group
