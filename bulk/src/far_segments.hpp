// SPDX-License-Identifier: BSD-3-Clause
// Walks the segments of a region.
#pragma once

#include <cinnabar/bulk/region.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::bulk {

// Calls f(segment index, offset in the segment, bytes done before, bytes) for each segment that [offset, offset +
// bytes) of the whole region touches, in order, until one call fails.
template <typename F>
FarEnd each_segment(const Region& region, std::uint64_t offset, std::uint64_t bytes, F&& f) noexcept {
    const auto ends = region.segment_ends();
    auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
    for (std::uint64_t done = 0; done < bytes; ++at) {
        const std::uint64_t size = region.segments()[at].bytes;
        const std::uint64_t skip = offset + done - (ends[at] - size);
        const std::uint64_t take = std::min(size - skip, bytes - done);
        if (const FarEnd end = f(at, skip, done, take); end.code != Errc::ok) return end;
        done += take;
    }
    return {};
}

// Appends the segments behind this region. May throw std::bad_alloc.
void append_far_segments(const Region& part, std::vector<na::Segment>& segments, std::vector<FarSegment>& far);

// Returns the segment of far memory that contains [offset, offset + bytes) of the slice, with the offset of the range
// in that memory. FarSegment::memory is null if no single segment contains the range.
[[nodiscard]] FarSegment far_segment_of(const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace cinnabar::bulk
