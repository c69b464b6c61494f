// SPDX-License-Identifier: BSD-3-Clause
#include "fences.hpp"

#include <sched.h>

namespace cinnabar::ofi {
namespace {

// A copy or system call of another thread is over after this many yields, unless that thread is preempted.
constexpr unsigned yields_max = 64;
// How long a fence may take: sends that are pending for longer wait for a peer that does not read.
constexpr TimeUs fence_us = 200'000;

}  // namespace

Fences::~Fences() {
    fences_.clear([this](std::uint32_t slot) noexcept { leases_.give_back(slot); });
}

Errc Fences::revoke(na::Lease& lease, TimeUs now) noexcept {
    for (unsigned yields = 0; !leases_.close(lease); ++yields) {
        if (yields < yields_max) {
            (void)::sched_yield();
            continue;
        }
        const std::lock_guard lock(mutex_);
        fences_.add(leases_.fence_of(lease), lease, lease.slot, now + fence_us);
        pending_.store(true, std::memory_order_seq_cst);
        return Errc::again;
    }
    leases_.revoke(lease);
    return Errc::ok;
}

bool Fences::is_accessed(const na::Lease& lease) noexcept {
    const std::lock_guard lock(mutex_);
    return na::PendingFences::has_failed(leases_.fence_of(lease)) && leases_.pinned(lease.slot);
}

}  // namespace cinnabar::ofi
