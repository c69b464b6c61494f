// SPDX-License-Identifier: BSD-3-Clause
#include "far_sum.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/checksum.hpp>
#include <cinnabar/hl/chunk_sums.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cinnabar::hl {

ChunkSums ChunkSums::of(const bulk::Region& memory, std::uint64_t chunk_bytes) {
    CINNABAR_ASSERT(chunk_bytes > 0);
    ChunkSums made;
    made.chunk_bytes_ = chunk_bytes;
    made.bytes_ = memory.bytes();
    for (std::uint64_t at = 0; at < made.bytes_; at += std::min(chunk_bytes, made.bytes_ - at))
        made.sums_.push_back(bulk::checksum_of(memory.slice(at, std::min(chunk_bytes, made.bytes_ - at))));
    return made;
}

Task<Result<ChunkSums>> ChunkSums::read(bulk::Region memory, std::uint64_t chunk_bytes) {
    CINNABAR_ASSERT(chunk_bytes > 0);
    ChunkSums made;
    made.chunk_bytes_ = chunk_bytes;
    made.bytes_ = memory.bytes();
    for (std::uint64_t at = 0; at < made.bytes_;) {
        const std::uint64_t bytes = std::min(chunk_bytes, made.bytes_ - at);
        const bulk::Region chunk = memory.slice(at, bytes);
        const Result<std::uint32_t> sum = co_await detail::sum_of_any(chunk);
        if (!sum) co_return sum.error();
        made.sums_.push_back(*sum);
        at += bytes;
    }
    co_return made;
}

std::uint32_t ChunkSums::sum(std::uint64_t chunk) const noexcept {
    CINNABAR_ASSERT(chunk < chunks());
    return sums_[static_cast<std::size_t>(chunk)];
}

ChunkSums ChunkSums::part(std::uint64_t first, std::uint64_t count) const {
    CINNABAR_ASSERT(first <= chunks() && count <= chunks() - first);
    ChunkSums made;
    made.chunk_bytes_ = chunk_bytes_;
    if (count == 0) return made;
    const auto begin = sums_.begin() + static_cast<std::ptrdiff_t>(first);
    made.sums_.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    const std::uint64_t behind = first * chunk_bytes_;  // of what lies before them
    made.bytes_ = first + count == chunks() ? bytes_ - behind : count * chunk_bytes_;
    return made;
}

bool ChunkSums::matches(std::uint64_t chunk, const bulk::Region& content) const noexcept {
    return bulk::checksum_of(content) == sum(chunk);
}

bool ChunkSums::plausible() const noexcept {
    return chunk_bytes_ > 0 && sums_.size() == bytes_ / chunk_bytes_ + (bytes_ % chunk_bytes_ != 0 ? 1 : 0);
}

Task<Result<std::uint64_t>> pull_checked(const Bulk& from, bulk::Region into, const ChunkSums& sums,
                                         TransferOptions options, std::uint32_t fetch_again_max) {
    options.sums = &sums;
    options.again_max = fetch_again_max;
    options.bytes = {};
    options.blocks = nullptr;
    options.notify = {};
    TransferOp pulled = from.pull(std::move(into), options);
    co_return co_await pulled;
}

}  // namespace cinnabar::hl
