// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/crc32c.hpp>
#include <cinnabar/bulk/checksum.hpp>

#include <algorithm>

namespace cinnabar::bulk {

std::uint32_t checksum_of(const Region& region) noexcept {
    CINNABAR_ASSERT(!region.is_far());
    const auto ends = region.segment_ends();
    std::uint64_t offset = region.offset();
    auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
    std::uint32_t sum = 0;
    for (std::uint64_t left = region.bytes(); left > 0; ++at) {
        const na::Segment& segment = region.segments()[at];
        const std::uint64_t skip = offset - (ends[at] - segment.bytes);
        const std::uint64_t take = std::min<std::uint64_t>(segment.bytes - skip, left);
        sum = crc32c(ConstBytes(segment.base + skip, static_cast<std::size_t>(take)), sum);
        offset += take;
        left -= take;
    }
    return sum;
}

}  // namespace cinnabar::bulk
