// SPDX-License-Identifier: BSD-3-Clause
// Fences of leases that were revoked while an access was still under way. Each fence is stored in the lease table, in
// the slot of its lease, so that revoking allocates nothing. For plugins; the caller holds the lock that guards the
// list.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/memory.hpp>

#include <cstdint>
#include <utility>

namespace cinnabar::na {

struct PendingFence {
    Lease* lease = nullptr;  // null: the fence failed and the lender was told; the slot stays out of use
    std::uint32_t slot = 0;
    TimeUs until = 0;  // the fence fails after this time
    ListLink<PendingFence> link;
};

class PendingFences {
  public:
    // Starts a fence. `fence`: the one that is stored in this slot.
    void add(PendingFence& fence, Lease& lease, std::uint32_t slot, TimeUs until) noexcept {
        fence.lease = &lease;
        fence.slot = slot;
        fence.until = until;
        fences_.push_back(fence);
        ++waiting_;
    }
    // For each fence: is_over(slot) returns whether all accesses to the slot have ended. ended(lease) is called once,
    // when is_over() is true or the time limit has passed; give_back(slot) is called when is_over() is true.
    template <typename IsOver, typename Ended, typename GiveBack>
    void check(TimeUs now, IsOver&& is_over, Ended&& ended, GiveBack&& give_back) noexcept {
        for (PendingFence* fence = fences_.front(); fence;) {
            PendingFence* const next = List::next(*fence);
            const bool over = is_over(fence->slot);
            if (over) fences_.remove(*fence);
            if (fence->lease && (over || now > fence->until)) {
                Lease& lease = *std::exchange(fence->lease, nullptr);
                lease.key = 0;
                lease.fence_failed = !over;
                --waiting_;
                ended(lease);
            }
            if (over) give_back(fence->slot);
            fence = next;
        }
    }
    // Gives back the slots of failed fences. Requires: no access is possible any more.
    template <typename GiveBack>
    void clear(GiveBack&& give_back) noexcept {
        while (const PendingFence* fence = fences_.pop_front()) give_back(fence->slot);
        waiting_ = 0;
    }
    // Whether the fence failed, and accesses were still in progress at the last check.
    [[nodiscard]] static bool has_failed(const PendingFence& fence) noexcept {
        return List::linked(fence) && !fence.lease;
    }
    [[nodiscard]] bool empty() const noexcept { return fences_.empty(); }
    // The number of fences that a lender waits for.
    [[nodiscard]] std::uint32_t waiting() const noexcept { return waiting_; }

  private:
    using List = IntrusiveList<PendingFence, &PendingFence::link>;
    List fences_;
    std::uint32_t waiting_ = 0;
};

}  // namespace cinnabar::na
