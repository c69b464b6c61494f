// SPDX-License-Identifier: BSD-3-Clause
// Fences: takes back memory that calls and large results have lent, and waits until the peer can no longer access it.
// If that fails, the memory stays in quarantine: it is neither freed nor reused until the connection of the peer is
// lost, and the accesses of others to which the peer forwarded it have ended. Owner of the context only, except for
// acquire() and release().
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/lend.hpp>

#include <cstdint>

namespace cinnabar::rpc {

class ContextCore;
class Fences;
struct PeerBook;

// Memory lent by a call, or a large result lent by a request.
struct RpcLend : bulk::Lend {
    using Ended = void (*)(void* holder, bool safe) noexcept;

    RpcLend* next = nullptr;  // of the same holder, or in quarantine
    // From take_back() on:
    Fences* fences = nullptr;
    void* holder = nullptr;        // the argument of `ended`
    Ended ended = nullptr;         // null: nobody waits for the fence
    PeerBook* peer = nullptr;      // the peer that knows the lease; null once that cannot access it any more
    std::uint32_t connection = 0;  // of the peer, when it was told
    bool fencing = false;
    Work over;  // runs when the fence has ended
};

class Fences {
  public:
    Fences(ContextCore& core, Threads threads, std::uint32_t lends_max) noexcept;

    // Null: too many are lent. Any thread of a context for many.
    [[nodiscard]] RpcLend* acquire() noexcept { return lends_.acquire(); }
    // Requires: not granted. Threads: as acquire().
    void release(RpcLend& lend) noexcept { lends_.release(lend); }

    // Takes the memory back. `peer`: who was told of it, on which of its connections; null: nobody. True: it is done,
    // and the lend is released. False: `ended` will be called once, with whether the memory is safe.
    [[nodiscard]] bool take_back(RpcLend& lend, PeerBook* peer, std::uint32_t connection, void* holder,
                                 RpcLend::Ended ended) noexcept;

    // The connection to the peer is lost: its quarantine ends, except for memory that others still access.
    void end_quarantine(PeerBook& peer) noexcept;
    // The context is closed, and nobody would deliver the end of the fences in progress: they count as failed.
    void abandon() noexcept;
    // All quarantine ends: the ports are closed.
    void end_quarantine() noexcept;

    [[nodiscard]] std::uint32_t in_progress() const noexcept { return in_progress_; }
    [[nodiscard]] std::uint32_t lent() const noexcept { return lends_.taken(); }
    [[nodiscard]] std::uint32_t quarantined() const noexcept { return quarantined_count_; }

  private:
    void fence_ended(RpcLend& lend) noexcept;
    void begin_quarantine(RpcLend& lend) noexcept;
    void forget(RpcLend& lend) noexcept;
    void leave_peer(RpcLend& lend) noexcept;
    void wait_for_others(RpcLend& lend) noexcept;
    void look_at_quarantine() noexcept;
    // Ends the quarantine of each lend of which `over(lend)` is true.
    template <typename F>
    void forget_if(F&& over) noexcept;

    ContextCore& core_;
    SlotPool<RpcLend> lends_;
    RpcLend* quarantined_ = nullptr;  // a list
    TimerOf<Fences> look_;            // armed while lends without a peer are in quarantine
    std::uint32_t quarantined_count_ = 0;
    std::uint32_t in_progress_ = 0;
};

}  // namespace cinnabar::rpc
