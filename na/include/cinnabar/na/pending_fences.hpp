// SPDX-License-Identifier: BSD-3-Clause
// Leases that are taken back while an access still has them: each has its fence in the slot of a table of its own
// transport, so that taking back needs no memory. For plugins; whoever owns the list has the lock.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/memory.hpp>

#include <cstdint>
#include <utility>

namespace cinnabar::na {

struct PendingFence {
    Lease* lease = nullptr;  // null: the fence has failed, and the lender knows; the slot stays out of use
    std::uint32_t slot = 0;
    TimeUs until = 0;  // when it fails
    ListLink<PendingFence> link;
};

class PendingFences {
  public:
    // `fence`: that of the slot.
    void add(PendingFence& fence, Lease& lease, std::uint32_t slot, TimeUs until) noexcept {
        fence.lease = &lease;
        fence.slot = slot;
        fence.until = until;
        fences_.push_back(fence);
        ++waiting_;
    }
    // `is_over(slot)`: no access has it any more. Then, or when its time is over, `ended(lease)`, once; and
    // `give_back(slot)` when it is over.
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
    // The slots of those that failed, once nobody can access anything.
    template <typename GiveBack>
    void clear(GiveBack&& give_back) noexcept {
        while (const PendingFence* fence = fences_.pop_front()) give_back(fence->slot);
        waiting_ = 0;
    }
    // That it has failed, and was not over at the last check.
    [[nodiscard]] static bool has_failed(const PendingFence& fence) noexcept {
        return List::linked(fence) && !fence.lease;
    }
    [[nodiscard]] bool empty() const noexcept { return fences_.empty(); }
    // Those whose lender waits.
    [[nodiscard]] std::uint32_t waiting() const noexcept { return waiting_; }

  private:
    using List = IntrusiveList<PendingFence, &PendingFence::link>;
    List fences_;
    std::uint32_t waiting_ = 0;
};

}  // namespace cinnabar::na
