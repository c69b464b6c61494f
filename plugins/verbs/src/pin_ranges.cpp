// SPDX-License-Identifier: BSD-3-Clause
#include "pin_ranges.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

namespace cinnabar::verbs {
namespace {

PinRange range_of(const na::Segment& segment) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(segment.base);
    return {begin, begin + segment.bytes, 1};
}

bool neighbours(const PinRange& a, const PinRange& b) noexcept {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first_page = [](std::uintptr_t at) { return at / page; };
    return first_page(b.begin) <= first_page(a.end - 1) + 1 && first_page(a.begin) <= first_page(b.end - 1) + 1;
}

}  // namespace

Result<PinRange> first_range(std::span<const na::Segment> segments, std::uint64_t bytes_max) {
    PinRange range = range_of(segments.front());
    if (range.end - range.begin > bytes_max) {
        return Error(Errc::too_large, "a segment is larger than the device can register: split it",
                     std::to_string(range.end - range.begin) + " of " + std::to_string(bytes_max) + " bytes");
    }
    for (const na::Segment& segment : segments.subspan(1)) {
        const PinRange next = range_of(segment);
        const PinRange both{std::min(range.begin, next.begin), std::max(range.end, next.end), range.segments + 1};
        if (!neighbours(range, next) || both.end - both.begin > bytes_max) break;
        range = both;
    }
    return range;
}

}  // namespace cinnabar::verbs
