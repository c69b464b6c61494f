// SPDX-License-Identifier: BSD-3-Clause
// PortionState: the memory that a bulk call moves at one process. Used by the task of that call.
#pragma once

#include "chunk_sources.hpp"
#include "offers.hpp"

#include <atomic>
#include <memory>

namespace cinnabar::group {

// Which chunks to request, and from where.
struct Asking {
    hl::NodeRef node;
    rpc::ProviderId provider = 0;
    Terms terms;  // all but the ticket
    std::shared_ptr<ChunkSources> sources;
    bool only_source = false;                        // no other source will follow
    std::shared_ptr<WantedPieces> wanted = nullptr;  // null: asks for chunks, even if the source lends pieces
};
// Transfers `region` chunk by chunk, `terms.window` chunks at a time, and notifies the source when all are done. If
// `holding` is not null, marks in it which chunks have arrived. Errors of Portion::receive().
[[nodiscard]] hl::Task<Result<void>> move_chunks(Asking asking, bulk::Region region, std::shared_ptr<Holding> holding);

class PortionState {
  public:
    // For a member that another process called.
    PortionState(Asking asking, std::shared_ptr<Offers> offers);
    // For the caller, without sources. All bytes of the region are there from the start.
    PortionState(Asking asking, bulk::Region region, std::shared_ptr<Offers> offers);

    [[nodiscard]] const Terms& terms() const noexcept { return asking_.terms; }
    [[nodiscard]] hl::NodeRef node() const noexcept { return asking_.node; }
    [[nodiscard]] na::Addr source() const { return asking_.sources ? asking_.sources->newest().address : na::Addr(); }

    // Offers the memory to a member below.
    [[nodiscard]] Offers::Kept offer() const;
    // Whether members on this host may be lent pieces of it (lent_pieces.hpp).
    [[nodiscard]] bool lends() const;
    [[nodiscard]] bool can_offer() const { return terms().bytes == 0 || !holding_->taken_back(); }

    [[nodiscard]] static hl::Task<Result<void>> move(std::shared_ptr<PortionState> state, bulk::Region region, Way way);
    // Call at a member when its handler has ended: ends the transfers, and gives up the members below that still lack
    // bytes.
    [[nodiscard]] static hl::Task<void> handler_ended(std::shared_ptr<PortionState> state);
    // Called at the caller when its call has ended. The region is not accessed after that.
    [[nodiscard]] static hl::Task<void> call_ended(std::shared_ptr<PortionState> state);

  private:
    [[nodiscard]] Result<void> admit(const bulk::Region& region, Way way);
    [[nodiscard]] static hl::Task<Result<void>> receive_and_give(std::shared_ptr<PortionState> state,
                                                                 bulk::Region region);

    Asking asking_;
    std::shared_ptr<Offers> offers_;
    std::shared_ptr<Holding> holding_;
    const bool at_caller_;
    bulk::Region local_;  // the caller's region; empty if it has no bytes
    std::atomic<bool> begun_{false};
};

// Copies one region to another of the same size within this process; lets other tasks run in between. If one of the
// regions is a file or device memory, the chunks are moved as between processes, because no loop may wait for such
// memory. The sources of `asking` are not used.
[[nodiscard]] hl::Task<Result<void>> copy_region(Asking asking, std::shared_ptr<Offers> offers, bulk::Region from,
                                                 bulk::Region to);

}  // namespace cinnabar::group
