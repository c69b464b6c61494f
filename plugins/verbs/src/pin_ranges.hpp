// SPDX-License-Identifier: BSD-3-Clause
// Which ranges of memory are registered for the user's segments. Segments on the same or on neighbouring pages share a
// range, up to what the device registers at once. Pure.
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
    std::size_t segments = 0;  // how many are in it
};

// The range for the first segments of `segments`. too_large: the device does not register the first segment at once.
// Requires: `segments` has elements, and none of them is empty.
[[nodiscard]] Result<PinRange> first_range(std::span<const na::Segment> segments, std::uint64_t bytes_max);

}  // namespace cinnabar::verbs
