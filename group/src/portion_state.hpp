// SPDX-License-Identifier: BSD-3-Clause
// PortionState: what a bulk call moves at one process. Used by the task of that call.
#pragma once

#include "chunk_sources.hpp"
#include "offers.hpp"

#include <atomic>
#include <memory>

namespace cinnabar::group {

// Where chunks are asked for, and from whom.
struct Asking {
    hl::NodeRef node;
    rpc::ProviderId provider = 0;
    Terms terms;  // but for the ticket
    std::shared_ptr<ChunkSources> sources;
    bool only_source = false;  // there will be no other one
};
// Moves the bytes of `region` chunk by chunk, `terms.window` at a time, and tells the source that it was all. What is
// in place is told to `holding`, if there is one. Errors: Portion::receive().
[[nodiscard]] hl::Task<Result<void>> move_chunks(Asking asking, bulk::Region region, std::shared_ptr<Holding> holding);

class PortionState {
  public:
    // Of a member that was called by another process.
    PortionState(Asking asking, std::shared_ptr<Offers> offers);
    // Of the caller. All of the region is there from the start.
    PortionState(hl::NodeRef node, const Terms& terms, bulk::Region region, std::shared_ptr<Offers> offers);

    [[nodiscard]] const Terms& terms() const noexcept { return asking_.terms; }
    [[nodiscard]] hl::NodeRef node() const noexcept { return asking_.node; }
    [[nodiscard]] na::Addr source() const { return asking_.sources ? asking_.sources->newest().address : na::Addr(); }

    // For the members below.
    [[nodiscard]] Offers::Kept offer() const;
    [[nodiscard]] bool can_offer() const { return terms().bytes == 0 || !holding_->taken_back(); }

    [[nodiscard]] static hl::Task<Result<void>> move(std::shared_ptr<PortionState> state, bulk::Region region, Way way);
    // At a member, when its handler has ended: what was not moved by then never is. Members below that lack something
    // are given up.
    [[nodiscard]] static hl::Task<void> handler_ended(std::shared_ptr<PortionState> state);
    // At the caller, when its call has ended. From then on nobody touches the region.
    [[nodiscard]] static hl::Task<void> call_ended(std::shared_ptr<PortionState> state);

  private:
    [[nodiscard]] Result<void> admit(const bulk::Region& region, Way way);
    [[nodiscard]] static hl::Task<Result<void>> receive_and_give(std::shared_ptr<PortionState> state,
                                                                 bulk::Region region);

    Asking asking_;
    std::shared_ptr<Offers> offers_;
    std::shared_ptr<Holding> holding_;
    const bool at_caller_;
    bulk::Region local_;  // of the caller; empty if it is no byte
    std::atomic<bool> begun_{false};
};

// The memory of one side to that of the other, in this process; lets others run meanwhile.
[[nodiscard]] hl::Task<Result<void>> copy_region(hl::NodeRef node, bulk::Region from, bulk::Region to);

}  // namespace cinnabar::group
