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
    // Puts Lease::fenced of those that are over into `ended`.
    void check(WorkQueue& ended, TimeUs now) noexcept;

  private:
    na::LeaseTable& leases_;
    std::mutex mutex_;
    na::PendingFences fences_;
    std::atomic<bool> pending_{false};
};

}  // namespace cinnabar::ofi
