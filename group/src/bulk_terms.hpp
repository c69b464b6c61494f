// SPDX-License-Identifier: BSD-3-Clause
// Checks the arguments of a bulk call before it starts.
#pragma once

#include "wire.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/group/bulk_options.hpp>

namespace cinnabar::group {

inline constexpr std::chrono::milliseconds come_back_max{60'000};

// invalid_argument: an option is out of bounds.
[[nodiscard]] Result<Terms> terms_of(const BulkOptions& options, Way way);
// unsupported: the call has checksums, which the processor computes, and the region is a file or device memory.
[[nodiscard]] Result<void> check_summed(const bulk::Region& region, bool checksum);
[[nodiscard]] Result<void> check_region(const bulk::Region& region, Way way, bool checksum);

}  // namespace cinnabar::group
