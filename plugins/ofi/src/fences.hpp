// SPDX-License-Identifier: BSD-3-Clause
// Revokes leases whose memory the fabric may still be sending from. No new access begins, but sends that are already
// posted must complete. If the peer reads, they complete within milliseconds; if the peer has died, at the end of the
// session. If the peer is stopped, they do not complete, and the fence fails. Any thread.
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
    // Requires: the fabric holds no operation.
    ~Fences();

    // As Transport::revoke.
    [[nodiscard]] Errc revoke(na::Lease& lease, TimeUs now) noexcept;
    // As Transport::is_accessed.
    [[nodiscard]] bool is_accessed(const na::Lease& lease) noexcept;
    // Whether fences are in progress, so that check() must be called repeatedly. Sequentially consistent, so that a
    // context that is about to sleep sees a fence that has just begun.
    [[nodiscard]] bool pending() const noexcept { return pending_.load(std::memory_order_seq_cst); }
    // For each fence that is over or has failed, calls ended(Lease::fenced); returns how many.
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
