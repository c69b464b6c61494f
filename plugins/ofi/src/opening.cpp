// SPDX-License-Identifier: BSD-3-Clause
#include "direct_reads.hpp"

#include <algorithm>

namespace cinnabar::ofi {

std::size_t Opening::gather(std::uint64_t offset, std::uint64_t bytes, Parts& out, std::size_t most) const noexcept {
    const auto end = parts.begin() + parts_count;
    auto part = std::upper_bound(parts.begin(), end, offset,
                                 [](std::uint64_t at, const Part& each) { return at < each.begin; });
    if (part == parts.begin()) return 0;
    --part;
    std::size_t count = 0;
    while (bytes > 0) {
        if (part == end || count == std::min(most, out.size())) return 0;
        const std::uint64_t within = offset - part->begin;
        if (within >= part->bytes) return 0;
        const std::uint64_t now = std::min(bytes, part->bytes - within);
        out[count++] = {part->at.address + within, now, part->at.key};
        offset += now;
        bytes -= now;
        ++part;
    }
    return count;
}

}  // namespace cinnabar::ofi
