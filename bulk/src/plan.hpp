// SPDX-License-Identifier: BSD-3-Clause
// Cuts a transfer between two segment lists into chunks that a transport can do in one operation each. Pure.
#pragma once

#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cinnabar::bulk {

// One side's segments as running ends (the sum of sizes up to and with each); empty means one unbroken range.
struct PlanSide {
    std::span<const std::uint64_t> ends;
    std::uint64_t offset = 0;
};

struct PlanLimits {
    std::uint64_t chunk_bytes = 0;            // wished for; at most rma_bytes_max
    std::size_t local_segments_max = 0;       // segments that one operation may touch here
    bool remote_unbroken = false;             // the owner resolves offsets, so segment borders there do not matter
    std::uint64_t staging_bytes = 0;          // of the buffer that very small segments may be gathered through; 0: none
    std::uint64_t staging_segment_bytes = 0;  // what is very small: segments below this
};

struct Chunk {
    std::uint64_t local_offset = 0;
    std::uint64_t remote_offset = 0;
    std::uint64_t bytes = 0;
    bool staged = false;  // to be moved through a staging buffer: it may touch more local segments than an operation
};

// Hands out the chunks of [offset, offset + bytes) on both sides, in order, as large as the limits allow.
class Planner {
  public:
    Planner() = default;
    // The ends are borrowed for as long as chunks are asked for. Requires: the windows lie inside the ends; a chunk
    // size and a number of local segments of at least 1.
    Planner(PlanSide local, PlanSide remote, std::uint64_t bytes, const PlanLimits& limits) noexcept;
    // False when all has been handed out.
    [[nodiscard]] bool next(Chunk& chunk) noexcept;
    [[nodiscard]] std::uint64_t left() const noexcept { return bytes_ - done_; }

  private:
    [[nodiscard]] std::uint64_t local_reach(std::uint64_t wanted) const noexcept;
    [[nodiscard]] std::uint64_t remote_reach(std::uint64_t wanted) const noexcept;
    // How far the run of very small segments goes that starts here.
    [[nodiscard]] std::uint64_t staged_reach(std::uint64_t wanted) const noexcept;
    PlanSide local_;
    PlanSide remote_;
    PlanLimits limits_;
    std::uint64_t bytes_ = 0;
    std::uint64_t done_ = 0;
    std::size_t local_segment_ = 0;
    std::size_t remote_segment_ = 0;
};

}  // namespace cinnabar::bulk
