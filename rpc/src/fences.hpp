// SPDX-License-Identifier: BSD-3-Clause
// Fences: takes back memory that calls and large results have lent, and waits until the peer can no longer access it.
// If this wait fails, the memory stays in quarantine: it is neither freed nor reused until the connection of the peer
// is lost, and the accesses of others to which the peer forwarded the memory have ended. Owner of the context only,
// except for acquire() and release().
#pragma once

#include "caller_quotas.hpp"
#include "context_base.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/rpc/call.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar::rpc {

class Fences;
class Peers;
struct PeerBook;

// Memory lent by a call, or a large result lent by a request.
struct RpcLend : bulk::Lend {
    using Ended = void (*)(void* holder, bool safe) noexcept;

    RpcLend* next = nullptr;  // in the list of its holder, or of the quarantine
    Audience audience = Audience::target;
    // Valid after take_back():
    Fences* fences = nullptr;
    void* holder = nullptr;        // passed to `ended`
    Ended ended = nullptr;         // null: the end of the fence is not reported
    PeerBook* peer = nullptr;      // knows the lease; null once it can no longer access the memory
    std::uint32_t connection = 0;  // the peer's connection on which it was told of the lease
    bool fencing = false;
    bool is_far = false;
    WorkItem over;  // runs when the fence has ended
    // The account of the caller whose quota it is charged to, until Fences::release(); null: no quota.
    std::shared_ptr<CallerAccount> lent_to;
    std::uint64_t charged_bytes = 0;

    void charge(std::shared_ptr<CallerAccount> account, std::uint64_t bytes) noexcept {
        lent_to = std::move(account);
        charged_bytes = bytes;
    }
};

class Fences {
  public:
    Fences(ContextBase& base, Peers& peers, ThreadUse threads, std::uint32_t lends_max) noexcept;

    // Null: lends_max is reached. Any thread of a context with ThreadUse::many.
    [[nodiscard]] RpcLend* acquire() noexcept { return lends_.acquire(); }
    // Requires: not granted. Threads: as acquire().
    void release(RpcLend& lend) noexcept {
        if (lend.lent_to) give_back(lend);
        lends_.release(lend);
    }

    // Takes the memory back. `peer` and `connection`: the peer that was told of the lease, and the connection on which
    // it was told; null: no peer was told. True: done, and the lend is released. False: `ended` will be called once,
    // and is told whether the memory is safe.
    [[nodiscard]] bool take_back(RpcLend& lend, PeerBook* peer, std::uint32_t connection, void* holder,
                                 RpcLend::Ended ended) noexcept;

    // No longer waits for copies of far memory that `holder` has lent: the fences that wait for these copies fail.
    void give_up_copies(const void* holder) noexcept;

    // Call when the connection to the peer was lost: ends its quarantine, except for memory that others still access.
    void end_quarantine(PeerBook& peer) noexcept;
    // Call when the context is closed. The fences in progress count as failed, because their end can no longer be
    // delivered.
    void abandon() noexcept;
    // Call when the ports are closed: ends all quarantine.
    void end_quarantine() noexcept;

    [[nodiscard]] std::uint32_t in_progress() const noexcept { return in_progress_; }
    [[nodiscard]] std::uint32_t lent() const noexcept { return lends_.taken(); }
    [[nodiscard]] std::uint32_t quarantined() const noexcept { return quarantined_count_; }

  private:
    static void give_back(RpcLend& lend) noexcept;
    void fence_ended(RpcLend& lend) noexcept;
    void begin_quarantine(RpcLend& lend) noexcept;
    void forget(RpcLend& lend) noexcept;
    void leave_peer(RpcLend& lend) noexcept;
    void wait_for_others(RpcLend& lend) noexcept;
    void look_at_quarantine() noexcept;
    // Ends the quarantine of each lend for which `over(lend)` is true.
    template <typename F>
    void forget_if(F&& over) noexcept;

    ContextBase& base_;
    Peers& peers_;
    SlotPool<RpcLend> lends_;
    RpcLend* quarantined_ = nullptr;  // a list
    TimerOf<Fences> look_;            // armed while there are lends without a peer in quarantine
    std::uint32_t quarantined_count_ = 0;
    std::uint32_t in_progress_ = 0;
};

}  // namespace cinnabar::rpc
