// SPDX-License-Identifier: BSD-3-Clause
// Pools that all sessions of a port share. When one is used up, the session that holds the most of it ends, not the one
// that asks next (docs/limits.md). Owner of the context only.
#pragma once

#include "buffers.hpp"
#include "transfer.hpp"

#include <cinnabar/base/clock.hpp>

namespace cinnabar::ofi {

class OfiPort;
class Session;

class Pools {
  public:
    // Chunks that there is room for, on each side; holds the largest operation several times.
    static constexpr std::uint32_t staging_max = 2048;

    explicit Pools(OfiPort& port);

    // For one session. Null: no other session holds more, or memory is short; of transfers also until those of the
    // other come back.
    [[nodiscard]] Buffer* take_control(Session& asks) noexcept;
    [[nodiscard]] PeerRequest* take_request(Session& asks) noexcept;
    [[nodiscard]] Transfer* take_transfer(Session& asks) noexcept;
    // There is no room for a chunk of a put, here or with the provider: ends the session of the other peer that has
    // room and has sent nothing for longest, if that is more than writer_silence_us.
    void end_silent_writer(const Session& asks) noexcept;

    // Room for a chunk; null when memory is out. What is `served` to peers has its own: they wait for it, and each may
    // be waited for by the other.
    [[nodiscard]] Staging* take_staging(bool served) noexcept;
    static void give_staging(Staging& staging) noexcept { staging.pool->release(staging); }
    // Where chunks go that nothing waits for any more.
    [[nodiscard]] Staging* sink() noexcept;

    // Whether a large get may post its chunks: it has begun to, or none has.
    [[nodiscard]] bool may_post_get(Transfer& transfer) noexcept {
        if (!posting_get_) posting_get_ = &transfer;
        return posting_get_ == &transfer;
    }
    void posted_get(Transfer& transfer) noexcept {
        if (posting_get_ == &transfer) posting_get_ = nullptr;
    }

    // The endpoint is closed, and all sessions have given back what they had.
    void close() noexcept;

    BufferPool controls;
    SlotPool<Transfer> transfers;
    SlotPool<PeerRequest> requests;
    SlotPool<Chunk> chunks;

  private:
    [[nodiscard]] bool end_largest(std::uint32_t (*held)(const Session&) noexcept, Session& asks) noexcept;

    OfiPort& port_;
    SlotPool<Staging> staging_;         // of this side's operations
    SlotPool<Staging> served_staging_;  // of the peers'
    Staging* sink_ = nullptr;
    Transfer* posting_get_ = nullptr;
    TimeUs silent_looked_at_ = 0;
};

}  // namespace cinnabar::ofi
