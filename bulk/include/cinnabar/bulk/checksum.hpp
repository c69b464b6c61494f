// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/bulk/region.hpp>

#include <cstdint>

namespace cinnabar::bulk {

// CRC-32C of the bytes of a region, segment by segment. Any thread. Requires: the region is not far.
[[nodiscard]] CINNABAR_API std::uint32_t checksum_of(const Region& region) noexcept;

}  // namespace cinnabar::bulk
