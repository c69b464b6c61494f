// SPDX-License-Identifier: BSD-3-Clause
// The records of a transfer and of its chunks in flight. Used only by the owner of the context, except members marked
// "Shared".
#pragma once

#include "far_copy.hpp"
#include "far_staging.hpp"
#include "plan.hpp"
#include "staging.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/bulk/owner_moves.hpp>
#include <cinnabar/bulk/silence.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <atomic>
#include <vector>

namespace cinnabar::bulk {

struct PeerBook;
struct TransferSlot;

// A chunk in flight.
struct ChunkOp : PoolSlot, na::Op {
    TransferSlot* transfer = nullptr;
    Chunk chunk;
    std::uint32_t staging_index = Staging::none;
    ListLink<ChunkOp> inflight_link;

    // For far memory (far_chunks.cpp).
    FarBuffer* buffer = nullptr;
    FarCopy copy;
    ListLink<ChunkOp> loaded_link;  // in FarChunks::loaded_: its bytes are in the buffer, and the port had no room
    OwnerMove by_owner;             // used instead of the op if only the owner can move the remote bytes
    IpcHandle handle;               // handle of its local bytes, if it is copied by handle (ipc_chunk.cpp)
};

enum class Phase : std::uint8_t {
    waiting,    // submitted, not yet seen by the owner
    running,    // chunks to post or in flight
    finishing,  // ended; the completion callback has yet to run
    delivered,
};

struct TransferSlot final : Transfer {
    TransferSlot() noexcept {
        work.user = this;
        cancel_work.user = this;
        timer.owner = this;
    }

    Mover::Impl* mover = nullptr;
    WorkItem work;                // runs on_begin, later on_deliver
    TimerOf<TransferSlot> timer;  // for the deadline and the stall check, later for on_finish
    TransferArgs args;
    TransferDone done = nullptr;
    TransferProgress progress = nullptr;
    void* user = nullptr;
    Deliver deliver = Deliver::queued;
    Phase phase = Phase::waiting;
    Errc error = Errc::ok;  // the first one
    Silence silence;
    Microseconds stall_max{0};
    bool copy_eager = false;
    bool has_planned = false;  // `planned` could not be posted yet
    bool by_owner = false;     // only the owner can move the remote bytes
    bool by_handle = false;    // one side opens the other's memory, and its device copies

    PeerBook* book = nullptr;
    na::Memory* memory = nullptr;
    ConstBytes key;
    Planner planner;
    Chunk planned;
    FarCopy eager_copy;
    std::vector<std::uint64_t> remote_ends;  // keeps its capacity between uses
    IntrusiveList<ChunkOp, &ChunkOp::inflight_link> inflight;
    std::uint32_t inflight_count = 0;
    ListLink<TransferSlot> ready_link;   // in PeerBook::ready: may post a chunk
    ListLink<TransferSlot> member_link;  // in PeerBook::members

    // Shared.
    std::atomic<bool> cancel_asked{false};
    WorkItem cancel_work;                   // queued once per use, by the thread that set cancel_asked
    std::atomic<std::uint32_t> holders{0};  // the user, and cancel_work while it is queued

    [[nodiscard]] bool all_posted() const noexcept { return !has_planned && planner.left() == 0; }
    // Whether the next chunk is the last one, which carries the notification.
    [[nodiscard]] bool next_notifies() const noexcept { return args.notify && has_planned && planner.left() == 0; }
    [[nodiscard]] std::uint64_t moved() const noexcept { return bytes_done_.load(std::memory_order_relaxed); }
    void add_moved(std::uint64_t bytes) noexcept { bytes_done_.store(moved() + bytes, std::memory_order_relaxed); }
    void reset_moved() noexcept { bytes_done_.store(0, std::memory_order_relaxed); }
    void set_result(Errc result) noexcept { result_ = result; }
    void set_stalled(bool stalled) noexcept { stalled_ = stalled; }
    void set_os_errno(int os_errno) noexcept { os_errno_ = os_errno; }
    // The bytes that a chunk takes from the budgets; 0 if copied by handle, which uses no buffer and no network.
    [[nodiscard]] std::uint64_t weight(const Chunk& chunk) const noexcept { return by_handle ? 0 : chunk.bytes; }
    // Whether each chunk passes through a FarBuffer, unless it is copied by handle.
    [[nodiscard]] bool is_far() const noexcept { return args.local.is_far(); }
};

}  // namespace cinnabar::bulk
