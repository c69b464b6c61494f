// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C of the bytes of a region.
#pragma once

#include <cinnabar/bulk/region.hpp>

#include <cstdint>

namespace cinnabar::group {

[[nodiscard]] std::uint32_t checksum_of(const bulk::Region& region);

}  // namespace cinnabar::group
