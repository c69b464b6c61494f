// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>

namespace cinnabar::bulk {
namespace {

// The segment that holds the byte at `offset`.
std::size_t segment_at(std::span<const std::uint64_t> ends, std::uint64_t offset) noexcept {
    return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
}

void skip_finished(std::span<const std::uint64_t> ends, std::uint64_t position, std::size_t& segment) noexcept {
    while (segment < ends.size() && ends[segment] <= position) ++segment;
}

}  // namespace

Planner::Planner(PlanSide local, PlanSide remote, std::uint64_t bytes, const PlanLimits& limits) noexcept
    : local_(local), remote_(remote), limits_(limits), bytes_(bytes) {
    CINNABAR_ASSERT(limits.chunk_bytes > 0 && limits.local_segments_max > 0);
    CINNABAR_ASSERT(local.ends.empty() || local.offset + bytes <= local.ends.back());
    CINNABAR_ASSERT(remote.ends.empty() || remote.blocks || remote.offset + bytes <= remote.ends.back());
    if (limits_.remote_unbroken) remote_.ends = {};
    local_segment_ = segment_at(local_.ends, local_.offset);
    remote_at_ = remote_.offset;
    if (remote_.blocks) walk_.emplace(*remote_.blocks);
    enter_block();
    remote_segment_ = segment_at(remote_.ends, remote_at_);
}

void Planner::enter_block() noexcept {
    if (!walk_ || block_.bytes > 0 || !walk_->next(left(), block_)) return;
    remote_at_ = block_.offset;
    remote_segment_ = segment_at(remote_.ends, remote_at_);
}

void Planner::pass_remote(std::uint64_t bytes) noexcept {
    remote_at_ += bytes;
    skip_finished(remote_.ends, remote_at_, remote_segment_);
    if (!walk_) return;
    block_.bytes -= bytes;
    enter_block();
}

std::uint64_t Planner::local_reach(std::uint64_t wanted) const noexcept {
    if (local_.ends.size() - local_segment_ <= limits_.local_segments_max) return wanted;
    const std::size_t last = local_segment_ + limits_.local_segments_max - 1;
    return std::min(wanted, local_.ends[last] - (local_.offset + done_));
}

std::uint64_t Planner::remote_reach(std::uint64_t wanted) const noexcept {
    if (walk_) wanted = std::min(wanted, block_.bytes);
    if (remote_.ends.empty()) return wanted;
    return std::min(wanted, remote_.ends[remote_segment_] - remote_at_);
}

std::uint64_t Planner::staged_reach(std::uint64_t wanted) const noexcept {
    const std::uint64_t begin = local_.offset + done_;
    std::uint64_t end = begin;
    for (std::size_t i = local_segment_; i < local_.ends.size() && end - begin < wanted; ++i) {
        if (local_.ends[i] - end >= limits_.staging_segment_bytes) break;
        end = local_.ends[i];
    }
    return std::min(wanted, end - begin);
}

bool Planner::next(Chunk& chunk) noexcept {
    if (done_ == bytes_) return false;
    const std::uint64_t wanted = remote_reach(std::min(limits_.chunk_bytes, bytes_ - done_));
    chunk.local_offset = local_.offset + done_;
    chunk.remote_offset = remote_at_;
    chunk.bytes = local_reach(wanted);
    chunk.staged = false;
    if (chunk.bytes < wanted && limits_.staging_bytes > 0) {
        const std::uint64_t staged = staged_reach(std::min(wanted, limits_.staging_bytes));
        chunk.staged = staged > chunk.bytes;
        chunk.bytes = std::max(chunk.bytes, staged);
    }
    done_ += chunk.bytes;
    skip_finished(local_.ends, local_.offset + done_, local_segment_);
    pass_remote(chunk.bytes);
    return true;
}

}  // namespace cinnabar::bulk
