// SPDX-License-Identifier: BSD-3-Clause
// Which ranges of memory are registered for the segments of the user: those on the same pages, or on pages that follow
// each other, share one, as far as the device takes so much at once. Pure: needs no device.
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
    std::size_t segments = 0;  // that lie in it
};

// The one for the first segments of `segments`. too_large: the device does not take the first at once.
// Requires: `segments` is not empty, and none of them is.
[[nodiscard]] Result<PinRange> first_range(std::span<const na::Segment> segments, std::uint64_t bytes_max);

}  // namespace cinnabar::verbs
