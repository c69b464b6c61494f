// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/memory.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace cinnabar::na {

Memory::Memory(Transport& transport, std::span<const Segment> segments, Access access)
    : transport_(&transport), access_(access) {
    segments_.reserve(segments.size());
    ends_.reserve(segments.size());
    std::uint64_t end = 0;
    for (const Segment& segment : segments) {
        if (segment.bytes == 0) continue;
        segments_.push_back(segment);
        ends_.push_back(end += segment.bytes);
    }
}

std::size_t Memory::segment_at(std::uint64_t offset) const noexcept {
    CINNABAR_DEBUG_ASSERT(offset < bytes());
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
}

std::size_t Memory::gather(std::uint64_t offset, std::uint64_t bytes, iovec* out, std::size_t count_max,
                           std::uint64_t& covered) const noexcept {
    CINNABAR_DEBUG_ASSERT(offset <= this->bytes() && bytes <= this->bytes() - offset);
    covered = 0;
    std::size_t count = 0;
    if (bytes == 0) return 0;
    for (std::size_t index = segment_at(offset); covered < bytes && count < count_max; ++index) {
        const std::uint64_t skip = offset + covered - segment_offset(index);
        const std::uint64_t take = std::min(segments_[index].bytes - skip, bytes - covered);
        out[count++] = iovec{segments_[index].base + skip, static_cast<std::size_t>(take)};
        covered += take;
    }
    return count;
}

// Calls copy(piece, at) for each piece of a range; `at` is counted from the beginning of the range.
template <typename Copy>
void Memory::each_piece(std::uint64_t offset, std::uint64_t bytes, Copy&& copy) const noexcept {
    CINNABAR_DEBUG_ASSERT(offset <= this->bytes() && bytes <= this->bytes() - offset);
    if (bytes == 0) return;
    std::uint64_t at = 0;
    for (std::size_t index = segment_at(offset); at < bytes; ++index) {
        const std::uint64_t skip = offset + at - segment_offset(index);
        const std::uint64_t take = std::min(segments_[index].bytes - skip, bytes - at);
        copy(Bytes(segments_[index].base + skip, static_cast<std::size_t>(take)), at);
        at += take;
    }
}

void Memory::copy_out(std::uint64_t offset, Bytes to) const noexcept {
    each_piece(offset, to.size(),
               [&to](Bytes piece, std::uint64_t at) { std::memcpy(to.data() + at, piece.data(), piece.size()); });
}

void Memory::copy_in(std::uint64_t offset, ConstBytes from) const noexcept {
    each_piece(offset, from.size(),
               [&from](Bytes piece, std::uint64_t at) { std::memcpy(piece.data(), from.data() + at, piece.size()); });
}

void Memory::copy_in(std::uint64_t offset, const Memory& from, std::uint64_t from_offset,
                     std::uint64_t bytes) const noexcept {
    while (bytes > 0) {
        iovec to{};
        iovec origin{};
        std::uint64_t covered = 0;
        (void)gather(offset, bytes, &to, 1, covered);
        (void)from.gather(from_offset, covered, &origin, 1, covered);
        std::memmove(to.iov_base, origin.iov_base, covered);
        offset += covered;
        from_offset += covered;
        bytes -= covered;
    }
}

}  // namespace cinnabar::na
