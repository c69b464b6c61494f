// SPDX-License-Identifier: BSD-3-Clause
// Cuts a transfer between two segment lists into chunks, each of which a transport can move in one operation. No side
// effects.
#pragma once

#include <cinnabar/bulk/blocks.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cinnabar::bulk {

// The segments of one side as cumulative sizes: ends[i] is the sum of the sizes of segments 0 to i. If `ends` is empty,
// the side is one contiguous range.
struct PlanSide {
    std::span<const std::uint64_t> ends;
    std::uint64_t offset = 0;
    const Blocks* blocks = nullptr;  // remote only, instead of the offset: the blocks to move
};

struct PlanLimits {
    std::uint64_t chunk_bytes = 0;       // preferred size; at most rma_bytes_max
    std::size_t local_segments_max = 0;  // per operation
    bool remote_unbroken = false;        // the transport resolves remote offsets, so a chunk may cross remote segments
    std::uint64_t staging_bytes = 0;     // size of a staging buffer; 0: none
    std::uint64_t staging_segment_bytes = 0;  // segments below this size are copied through the staging buffer
};

struct Chunk {
    std::uint64_t local_offset = 0;
    std::uint64_t remote_offset = 0;
    std::uint64_t bytes = 0;
    bool staged = false;  // moved through a staging buffer, so it may touch more than local_segments_max segments
};

// Yields the chunks of [offset, offset + bytes) in order, each as large as the limits allow.
class Planner {
  public:
    Planner() = default;
    // Plans a transfer of `bytes` bytes. PlanSide::ends and the blocks must outlive the last call of next(). Requires:
    // both ranges lie inside their segments; chunk_bytes and local_segments_max are at least 1.
    Planner(PlanSide local, PlanSide remote, std::uint64_t bytes, const PlanLimits& limits) noexcept;
    // False after the last chunk.
    [[nodiscard]] bool next(Chunk& chunk) noexcept;
    [[nodiscard]] std::uint64_t left() const noexcept { return bytes_ - done_; }

  private:
    [[nodiscard]] std::uint64_t local_reach(std::uint64_t wanted) const noexcept;
    [[nodiscard]] std::uint64_t remote_reach(std::uint64_t wanted) const noexcept;
    // Advances to the next remote block when one is done.
    void enter_block() noexcept;
    void pass_remote(std::uint64_t bytes) noexcept;
    // The length of the run of small segments that starts at the current position.
    [[nodiscard]] std::uint64_t staged_reach(std::uint64_t wanted) const noexcept;
    PlanSide local_;
    PlanSide remote_;
    PlanLimits limits_;
    std::uint64_t bytes_ = 0;
    std::uint64_t done_ = 0;
    std::optional<BlockWalk> walk_;  // walks the remote blocks
    BlockPiece block_;               // the rest of the current piece
    std::uint64_t remote_at_ = 0;
    std::size_t local_segment_ = 0;
    std::size_t remote_segment_ = 0;
};

}  // namespace cinnabar::bulk
