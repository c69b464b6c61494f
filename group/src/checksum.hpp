// SPDX-License-Identifier: BSD-3-Clause
// XXH3 of chunks, where xxHash was there when this was built.
#pragma once

#include <cinnabar/bulk/region.hpp>

#include <cstdint>

namespace cinnabar::group {

[[nodiscard]] bool has_checksums() noexcept;
// Requires: has_checksums().
[[nodiscard]] std::uint64_t checksum_of(const bulk::Region& region);

}  // namespace cinnabar::group
