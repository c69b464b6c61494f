// SPDX-License-Identifier: BSD-3-Clause
// The quota of a Caller for its own calls (QuotaOptions): how many calls, and how many bytes, may be in progress to one
// peer and in all. A call that exceeds the quota waits here until others have ended, or is refused if `waiting_max`
// calls wait already. The quotas of a server for its callers, which never make a call wait, are in
// rpc/src/caller_quotas.hpp. Thread-safe.
#pragma once

#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/retry_policy.hpp>
#include <cinnabar/hl/stop.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <mutex>
#include <set>
#include <unordered_map>

namespace cinnabar::hl {

class OutgoingQuota {
  public:
    explicit OutgoingQuota(const QuotaOptions& options) noexcept : options_(options) {}

    struct Wish {
        na::Addr peer;
        std::uint64_t bytes = 0;
        Priority priority = Priority::normal;
    };
    // false: the call has to wait. true: the caller must call leave() later.
    [[nodiscard]] bool enters_at_once(const Wish& wish);
    // Waits until the call may start. ok: the caller must call leave() later. overloaded: too many calls wait.
    // timed_out, canceled: the wait has ended early.
    [[nodiscard]] Task<Errc> enter(NodeRef node, Wish wish);
    void leave(const Wish& wish) noexcept;

    [[nodiscard]] bool limits() const noexcept {
        return options_.peer_calls != 0 || options_.node_calls != 0 || options_.peer_bytes != 0 ||
               options_.node_bytes != 0;
    }
    [[nodiscard]] std::uint32_t waiting() const noexcept {
        const std::lock_guard lock(mutex_);
        return static_cast<std::uint32_t>(waiting_.size());
    }

  private:
    struct Use {
        na::Addr peer;
        std::uint32_t calls = 0;
        std::uint32_t waiting = 0;
        std::uint64_t bytes = 0;
        std::uint64_t held_up = 0;  // the pass over the queue in which this peer's quota was exceeded
    };
    struct Waiter {
        const Wish& wish;
        TimeUs deadline;
        std::uint64_t number;
        StopScope& pause;  // stopped in order to wake the call
        bool let_go = false;
    };
    struct Before {
        bool operator()(const Waiter* a, const Waiter* b) const noexcept {
            if (a->wish.priority != b->wish.priority) return a->wish.priority < b->wish.priority;
            if (a->deadline != b->deadline) return a->deadline < b->deadline;
            return a->number < b->number;
        }
    };
    // Null for a call without a target, which ends at once.
    [[nodiscard]] static const na::AddrBody* key(const Wish& wish) noexcept {
        return wish.peer.empty() ? nullptr : &wish.peer.body();
    }
    [[nodiscard]] static bool fits(const Use& use, std::uint64_t bytes, std::uint32_t calls_max,
                                   std::uint64_t bytes_max) noexcept;
    [[nodiscard]] bool fits_node(const Wish& wish) const noexcept;
    [[nodiscard]] bool fits_peer(const Wish& wish) const noexcept;
    [[nodiscard]] bool goes_at_once(const Wish& wish) const noexcept;
    void take(const Wish& wish);
    [[nodiscard]] bool holds_up_peer(const Wish& wish) noexcept;
    void wake() noexcept;
    void wait(Waiter& waiter);
    void end_wait(Waiter& waiter) noexcept;

    const QuotaOptions options_;
    mutable std::mutex mutex_;
    Use all_;
    std::unordered_map<const na::AddrBody*, Use> peers_;  // the peers with calls in progress or waiting
    std::set<Waiter*, Before> waiting_;
    std::uint64_t numbers_ = 0;
    std::uint64_t looks_ = 0;
};

}  // namespace cinnabar::hl
