// SPDX-License-Identifier: BSD-3-Clause
// FarChunks: the chunks of a Mover that the port cannot move by itself. Chunks of far memory pass through a staging
// buffer (far_chunks.cpp); some chunks of device memory are copied by a handle (ipc_chunk.cpp); and some chunks are
// moved by the owner of the remote memory. Owner of the context only.
#pragma once

#include "pump.hpp"

#include <memory>
#include <vector>

namespace cinnabar::bulk {

class FarChunks {
  public:
    FarChunks(Mover::Impl& mover, na::Context& context, const std::vector<std::shared_ptr<na::Transport>>& transports);
    // Requires: no chunk is in flight.
    ~FarChunks();
    FarChunks(const FarChunks&) = delete;
    FarChunks& operator=(const FarChunks&) = delete;

    // Begins the next chunk of a transfer of far memory.
    [[nodiscard]] Posted post(ChunkOp& op, TransferSlot& slot) noexcept;
    // Begins the copy between the chunk's buffer and the far memory.
    void begin_copy(ChunkOp& op) noexcept;
    void give_buffer(ChunkOp& op) noexcept;
    // Retires the chunks of a failed transfer that wait for room in the port.
    void drop_loaded(TransferSlot& slot) noexcept;
    // Copies contents that the descriptor carried into far memory.
    void begin_eager_copy(TransferSlot& slot) noexcept;
    [[nodiscard]] Errc post_by_owner(ChunkOp& op) noexcept;
    // Whether a transfer may be copied by a handle of device memory.
    [[nodiscard]] bool may_go_by_handle(const TransferSlot& slot, const na::Peer& peer) const noexcept;
    [[nodiscard]] Posted post_by_handle(ChunkOp& op, TransferSlot& slot) noexcept;
    // Blocks until every copy in progress has submitted its end to the context.
    void await_copies() const noexcept { copies_.await(); }

  private:
    void post_loaded(ChunkOp& op) noexcept;
    void post_all_loaded() noexcept;
    static void on_copied(WorkItem& work) noexcept;
    static void on_eager_copied(WorkItem& work) noexcept;
    static void on_owner_moved(OwnerMove& move) noexcept;
    static void on_shown(WorkItem& work) noexcept;
    static void on_copied_by_device(WorkItem& work) noexcept;

    Mover::Impl& mover_;
    na::Context& context_;
    const std::vector<std::shared_ptr<na::Transport>>& transports_;
    std::vector<FarStaging> staging_;  // one per transport
    IntrusiveList<ChunkOp, &ChunkOp::loaded_link> loaded_;
    TimerOf<FarChunks> retry_;  // armed while loaded_ is not empty
    FarCopies copies_;          // last, so destroyed first: copies in progress use the others
};

}  // namespace cinnabar::bulk
