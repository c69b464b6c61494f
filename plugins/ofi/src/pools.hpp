// SPDX-License-Identifier: BSD-3-Clause
// Pools shared by all sessions of a port. When a pool is used up, the session that holds the most of it is ended
// (docs/limits.md). Owner of the context only.
#pragma once

#include "buffers.hpp"
#include "room.hpp"
#include "transfer.hpp"

#include <cinnabar/base/clock.hpp>

#include <array>

namespace cinnabar::ofi {

class OfiPort;
class Session;

class Pools {
  public:
    explicit Pools(OfiPort& port);

    // Takes an object from a pool. If the pool is used up, the session that holds the most of it is ended first. Null:
    // `asks` itself holds the most, or out of memory. take_transfer() also returns null until the ended session has
    // given its transfers back.
    [[nodiscard]] Buffer* take_control(Session& asks) noexcept;
    [[nodiscard]] PeerRequest* take_request(Session& asks) noexcept;
    [[nodiscard]] Transfer* take_transfer(Session& asks) noexcept;
    // Call when there is no room for a chunk of a put. Considers sessions, other than `asks`, that hold granted chunks,
    // and ends the one whose peer has sent no chunk for the longest time, if that time is longer than silence_us.
    void end_silent_writer(const Session& asks) noexcept;
    // Call when there is no room for a chunk of a get. Considers sessions, other than `asks`, with gets that await
    // their owner (Transfer::awaits_owner), and ends the one whose peer has been silent for the longest time, if that
    // time is longer than silence_us.
    void end_silent_lender(const Session& asks) noexcept;
    // Call when there is no staging memory for a chunk. Ends sessions, other than `asks`, that have held such memory
    // for longer than silence_us because their peer is silent or does not read. `served`: the chunk is of a peer's
    // operation; considers sessions with granted puts (end_silent_writer()), and those with copies that are sent for
    // gets of their peer. Otherwise the chunk is of this side's operation; considers sessions with gets that await
    // their owner (end_silent_lender()), and those with copies that are sent by puts.
    void end_silent_stager(const Session& asks, bool served) noexcept;

    // The size of memory for a chunk.
    [[nodiscard]] std::size_t staging_bytes() const noexcept;
    // Takes memory for a chunk; null: none is left. `served`: the memory is for an operation of a peer. Such operations
    // have a pool of their own, because two sides that serve each other from one pool could deadlock.
    [[nodiscard]] Staging* take_staging(bool served) noexcept;
    static void give_staging(Staging& staging) noexcept { staging.pool->release(staging); }
    // Memory that receives, and drops, the data of chunks that nothing waits for any more; all share it.
    [[nodiscard]] Staging* sink() noexcept;

    // Whether a large get may post its chunks: only one get may at a time.
    [[nodiscard]] bool may_post_get(Transfer& transfer) noexcept {
        if (!posting_get_) posting_get_ = &transfer;
        return posting_get_ == &transfer;
    }
    [[nodiscard]] bool posts_get(const Transfer& transfer) const noexcept { return posting_get_ == &transfer; }
    void posted_get(Transfer& transfer) noexcept {
        if (posting_get_ == &transfer) posting_get_ = nullptr;
    }

    // Requires: the endpoint is closed, and all sessions have given everything back.
    void close() noexcept;

    BufferPool controls;
    // Copies of messages that are sent sealed. A copy is taken only when its message is given to the fabric, so
    // messages that wait to be sent have no copy, and the fabric gives each copy back.
    BufferPool sealed;
    SlotPool<Transfer> transfers;
    SlotPool<PeerRequest> requests;
    SlotPool<Chunk> chunks;
    ReceiveRoom receive_room;

  private:
    using WaitsSince = TimeUs (*)(const Session&) noexcept;
    void end_silent(WaitsSince waits_since, TimeUs& looked_at, const Session& asks) noexcept;
    [[nodiscard]] bool end_largest(std::uint32_t (*held)(const Session&) noexcept, Session& asks) noexcept;

    OfiPort& port_;
    SlotPool<Staging> staging_;         // for this side's operations
    SlotPool<Staging> served_staging_;  // for operations of peers
    Staging* sink_ = nullptr;
    Transfer* posting_get_ = nullptr;
    // When the sessions were last searched for silent peers of each kind.
    TimeUs writers_looked_at_ = 0;
    TimeUs lenders_looked_at_ = 0;
    std::array<TimeUs, 2> readers_looked_at_{};  // by `served`
};

}  // namespace cinnabar::ofi
