// SPDX-License-Identifier: BSD-3-Clause
// Constructs regions of far memory, and copies their bytes.
#include "far_segments.hpp"
#include "file_memory.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/region.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cinnabar::bulk {

void append_far_segments(const Region& part, std::vector<na::Segment>& segments, std::vector<FarSegment>& far) {
    const auto ends = part.segment_ends();
    std::uint64_t offset = part.offset();
    std::uint64_t left = part.bytes();
    auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
    for (; left > 0; ++at) {
        const na::Segment& segment = part.segments()[at];
        const std::uint64_t skip = offset - (ends[at] - segment.bytes);
        const std::uint64_t take = std::min<std::uint64_t>(segment.bytes - skip, left);
        FarSegment of = part.is_far() ? part.far_segments()[at] : FarSegment();
        if (of.memory) of.offset += skip;
        segments.push_back({segment.base ? segment.base + skip : nullptr, static_cast<std::size_t>(take)});
        far.push_back(std::move(of));
        offset += take;
        left -= take;
    }
}

FarSegment far_segment_of(const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (!region.is_far()) return {};
    FarSegment found;
    (void)each_segment(region, region.offset() + offset, bytes,
                       [&](std::size_t at, std::uint64_t skip, std::uint64_t, std::uint64_t take) noexcept {
                           const FarSegment& segment = region.far_segments()[at];
                           if (segment.memory && take == bytes) found = {segment.memory, segment.offset + skip};
                           return FarEnd{Errc::canceled, 0};  // stops after the first segment
                       });
    return found;
}

Result<Region> Region::of_file(int fd, std::uint64_t offset, std::uint64_t bytes, na::Access access) {
    CINNABAR_TRY(std::shared_ptr<FarMemory> file, FileMemory::open(fd, offset, bytes, access));
    return of_far(std::move(file), access);
}

Result<Region> Region::of_far(std::shared_ptr<FarMemory> memory, na::Access access) {
    if (!memory || memory->bytes() == 0) return Error(Errc::invalid_argument, "a region needs at least one byte");
    const na::Segment segment{nullptr, static_cast<std::size_t>(memory->bytes())};
    return of_segments({segment}, {FarSegment{std::move(memory), 0}}, {}, access);
}

Result<Region> Region::join(std::span<const Region> parts, na::Access access) {
    std::vector<na::Segment> segments;
    std::vector<FarSegment> far;
    bool any_far = false;
    for (const Region& part : parts) {
        if (part.bytes() == 0) return Error(Errc::invalid_argument, "one of the regions to join is empty");
        if (!na::allows(part.access(), access))
            return Error(Errc::permission, "one of the regions to join was made for less access");
        any_far |= part.is_far();
        append_far_segments(part, segments, far);
    }
    if (!any_far)
        return Error(Errc::invalid_argument, "none of the regions to join is far memory: expose their segments");
    return of_segments(std::move(segments), std::move(far), {parts.begin(), parts.end()}, access);
}

FarEnd Region::load(std::uint64_t offset, Bytes to) const noexcept {
    CINNABAR_ASSERT(offset <= bytes_ && to.size() <= bytes_ - offset);
    const auto piece = [&](std::size_t at, std::uint64_t skip, std::uint64_t done, std::uint64_t take) noexcept {
        const Bytes room = to.subspan(done, take);
        if (const FarSegment* far = is_far() ? &far_segments()[at] : nullptr; far && far->memory)
            return far->memory->load(far->offset + skip, room);
        std::memcpy(room.data(), segments()[at].base + skip, take);
        return FarEnd();
    };
    return each_segment(*this, offset_ + offset, to.size(), piece);
}

FarEnd Region::store(std::uint64_t offset, ConstBytes from) const noexcept {
    CINNABAR_ASSERT(offset <= bytes_ && from.size() <= bytes_ - offset);
    const auto piece = [&](std::size_t at, std::uint64_t skip, std::uint64_t done, std::uint64_t take) noexcept {
        const ConstBytes content = from.subspan(done, take);
        if (const FarSegment* far = is_far() ? &far_segments()[at] : nullptr; far && far->memory)
            return far->memory->store(far->offset + skip, content);
        std::memcpy(segments()[at].base + skip, content.data(), take);
        return FarEnd();
    };
    return each_segment(*this, offset_ + offset, from.size(), piece);
}

}  // namespace cinnabar::bulk
