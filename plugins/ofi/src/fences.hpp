// SPDX-License-Identifier: BSD-3-Clause
// How leases are taken back whose memory the fabric may be sending from: no access begins any more, and what is
// with the fabric has to come back. With a peer that reads it does so in milliseconds, with one that died as soon as
// its session is over; with one that is stopped it does not, and the fence fails. Any thread.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/pending_fences.hpp>

#include <atomic>
#include <mutex>

namespace cinnabar::ofi {

class Fences {
  public:
    explicit Fences(na::LeaseTable& leases) noexcept : leases_(leases) {}
    // Requires: nothing is with the fabric.
    ~Fences();

    // As Transport::revoke.
    [[nodiscard]] Errc revoke(na::Lease& lease, TimeUs now) noexcept;
    // As Transport::is_accessed.
    [[nodiscard]] bool is_accessed(const na::Lease& lease) noexcept;
    // Whether check() has to be called now and then. In one order with what wakes the contexts.
    [[nodiscard]] bool pending() const noexcept { return pending_.load(std::memory_order_seq_cst); }
    // Gives Lease::fenced of each fence that is over to `ended(Work&)`; returns how many.
    template <typename F>
    unsigned check(TimeUs now, F&& ended) noexcept {
        const std::lock_guard lock(mutex_);
        unsigned did = 0;
        fences_.check(
            now, [this](std::uint32_t slot) noexcept { return !leases_.pinned(slot); },
            [&](na::Lease& lease) noexcept { ended(lease.fenced), ++did; },
            [this](std::uint32_t slot) noexcept { leases_.give_back(slot); });
        pending_.store(!fences_.empty(), std::memory_order_seq_cst);
        return did;
    }

  private:
    na::LeaseTable& leases_;
    std::mutex mutex_;
    na::PendingFences fences_;
    std::atomic<bool> pending_{false};
};

}  // namespace cinnabar::ofi
