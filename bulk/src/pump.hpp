// SPDX-License-Identifier: BSD-3-Clause
// Pump: posts the chunks of all transfers of a Mover. Owner of the context only, except the member marked "Shared".
//
// Scheduling is round robin at two levels: peers with chunks to post take turns, and so do the transfers of one peer;
// each turn posts one chunk. A peer leaves the ring when its budget is used up or when the port has no room (the peer
// is then stalled). The peer returns to the ring at the next completion, or after a short time if nothing completes.
// Peers that find the context's budget used up wait for room in it, in order of arrival. A peer with nothing in flight
// may always post one chunk, so peers that do not respond cannot starve the others.
#pragma once

#include "peer_books.hpp"

#include <memory>
#include <vector>

namespace cinnabar::bulk {

// The outcome of an attempt to post a chunk.
enum class Posted : std::uint8_t { taken, failed, peer_full, stalled, context_full };

class Pump {
  public:
    Pump(Mover::Impl& mover, na::Context& context, const std::vector<std::shared_ptr<na::Transport>>& transports,
         const MoverOptions& options);
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    // Posts what may be posted.
    void run() noexcept;
    // Call when a transfer may post another chunk.
    void make_ready(TransferSlot& slot) noexcept;
    // Makes the transfer post no more chunks.
    void unready(TransferSlot& slot) noexcept;

    // The steps of posting a chunk, which FarChunks takes one by one.
    void fill(ChunkOp& op, TransferSlot& slot) noexcept;
    [[nodiscard]] Errc post(ChunkOp& op) noexcept;
    void set_in_flight(ChunkOp& op, TransferSlot& slot) noexcept;
    // Frees a chunk that the port did not take and that is not in flight, and fails the chunk's transfer unless the
    // port only had no room.
    [[nodiscard]] Posted refused(ChunkOp& op, TransferSlot& slot, Errc why) noexcept;
    // Frees a chunk that is not in flight.
    [[nodiscard]] Posted give_up(ChunkOp& op, Posted why) noexcept;

    void call_off(ChunkOp& op) noexcept;
    void chunk_done(ChunkOp& op) noexcept;
    // Removes a chunk from all accounts and frees it.
    void retire(ChunkOp& op) noexcept;
    // The completion of an op, or of an OwnerMove in its place.
    static void on_chunk(na::Op& op) noexcept;

    [[nodiscard]] PeerBooks& books() noexcept { return books_; }
    [[nodiscard]] Staging& staging(std::size_t port_index) noexcept { return staging_[port_index]; }
    [[nodiscard]] bool waits_for_room() const noexcept { return retry_.armed(); }
    // Shared.
    [[nodiscard]] std::uint64_t bytes_inflight() const noexcept {
        return bytes_inflight_.load(std::memory_order_relaxed);
    }

  private:
    [[nodiscard]] Posted post_next(PeerBook& book) noexcept;
    // Whether a chunk of this peer would exceed the context's budget.
    [[nodiscard]] bool is_full(const PeerBook& book, std::uint64_t bytes) const noexcept;
    [[nodiscard]] Posted post_chunk(TransferSlot& slot) noexcept;
    void leave(PeerBook& book) noexcept;
    void stall(PeerBook& book) noexcept;
    static void on_retry(WheelTimer& timer) noexcept;
    void add_inflight(std::uint64_t bytes) noexcept {
        bytes_inflight_.store(bytes_inflight() + bytes, std::memory_order_relaxed);
    }

    static constexpr Microseconds retry_after_min{100};
    static constexpr Microseconds retry_after_max{10'000};

    Mover::Impl& mover_;
    na::Context& context_;
    const MoverOptions& options_;
    std::vector<Staging> staging_;  // one per transport
    SlotPool<ChunkOp> chunks_;
    PeerBooks books_;
    TimerOf<Pump> retry_;                           // armed while a peer is stalled
    Microseconds retry_after_ = retry_after_min;    // doubles until a chunk can be posted
    std::atomic<std::uint64_t> bytes_inflight_{0};  // shared; written by the owner
};

}  // namespace cinnabar::bulk
