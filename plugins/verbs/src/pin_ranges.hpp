// SPDX-License-Identifier: BSD-3-Clause
// Computes the ranges of memory to register for the user's segments. Segments on the same or on neighbouring pages
// share a range, up to what the device can register at once. Pure.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cinnabar::verbs {

struct PinRange {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::size_t segments = 0;  // number of segments in the range
};

// The range for the first of `segments`. too_large: the first segment is larger than the device can register. Requires:
// at least one segment, and none that is empty.
[[nodiscard]] Result<PinRange> first_range(std::span<const na::Segment> segments, std::uint64_t bytes_max);

}  // namespace cinnabar::verbs
