// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Mover: starts transfers and ends them. Pump posts the chunks; FarChunks posts the chunks that
// the port cannot move by itself. Used only by the owner of the context, except members marked "Shared".
#pragma once

#include "far_chunks.hpp"
#include "pump.hpp"

#include <vector>

namespace cinnabar::bulk {

class Mover::Impl {
  public:
    Impl(na::Context& context, std::vector<std::shared_ptr<na::Transport>> transports, const MoverOptions& options);
    ~Impl();

    [[nodiscard]] Transfer* start(const TransferArgs& args, TransferDone done, void* user, Deliver deliver,
                                  TransferProgress progress, Errc& why) noexcept;
    [[nodiscard]] bool prepare_cancel(TransferSlot& slot) noexcept;
    void cancel(TransferSlot& slot) noexcept;
    void cancel_soon(TransferSlot& slot) noexcept;
    void release(TransferSlot& slot) noexcept;
    void close() noexcept;

    // Handles the first failure of a running transfer: posts no more chunks and cancels the chunks in flight.
    // Recall::no: cancels nothing, since the context is closing and ends the chunks anyway.
    enum class Recall : std::uint8_t { yes, no };
    void fail(TransferSlot& slot, Errc why, Recall recall = Recall::yes) noexcept;
    void fail_peer(PeerBook& book, Errc why) noexcept;
    void finish(TransferSlot& slot) noexcept;
    // Call when the owner cannot open this side's memory: restarts the transfer with staging buffers.
    void stage_instead(TransferSlot& slot) noexcept;

  private:
    void begin(TransferSlot& slot) noexcept;
    // These three may throw std::bad_alloc.
    [[nodiscard]] Errc prepare(TransferSlot& slot);
    [[nodiscard]] Errc find_way(TransferSlot& slot, na::Peer*& peer, std::size_t& port_index);
    void plan(TransferSlot& slot, std::size_t port_index);
    [[nodiscard]] std::size_t index_of(const na::Port& of) const noexcept;
    // Leaves the peer's book now and finishes from progress(), so that no completion runs inside start, cancel or pump.
    void finish_later(TransferSlot& slot) noexcept;
    void drop_holder(TransferSlot& slot) noexcept;
    static void on_begin(WorkItem& work) noexcept;
    static void on_finish(WheelTimer& timer) noexcept;
    static void on_deliver(WorkItem& work) noexcept;
    static void on_cancel(WorkItem& work) noexcept;
    // Arms the timer for the deadline or the next stall check, whichever is earlier.
    void watch(TransferSlot& slot) noexcept;
    static void on_watch(WheelTimer& timer) noexcept;
    static void on_close(WorkItem& work) noexcept;

    na::Context& context_;
    const std::vector<std::shared_ptr<na::Transport>> transports_;
    WorkItem close_work_;
    std::atomic<bool> closed_{false};  // shared

  public:
    const MoverOptions options_;
    OwnerMoves* owner_moves_ = nullptr;
    TransferCount count_ = nullptr;
    SlotPool<TransferSlot> transfers_;  // shared
    Pump pump_;
    FarChunks far_;  // last, so destroyed first: copies in progress use the others
};

}  // namespace cinnabar::bulk
