// SPDX-License-Identifier: BSD-3-Clause
#include "fences.hpp"

#include <sched.h>

#include <utility>

namespace cinnabar::ofi {
namespace {

// A copy or a system call of another thread is over within so many yields, unless that has lost its core.
constexpr unsigned yields_max = 64;
// What the fabric has left then stays with it for as long as the peer does not read.
constexpr TimeUs fence_us = 200'000;

}  // namespace

Fences::~Fences() {
    for (Fence& fence : fences_) leases_.revoke(fence.held);
}

Errc Fences::revoke(na::Lease& lease, TimeUs now) {
    for (unsigned yields = 0; !leases_.close(lease); ++yields) {
        if (yields < yields_max) {
            (void)::sched_yield();
            continue;
        }
        const std::lock_guard lock(mutex_);
        Fence& fence = fences_.emplace_back();
        fence.lease = &lease;
        fence.held.memory = lease.memory;
        fence.held.key = lease.key;
        fence.held.slot = lease.slot;
        fence.held.generation = lease.generation;
        fence.until = now + fence_us;
        pending_.store(static_cast<std::uint32_t>(fences_.size()), std::memory_order_seq_cst);
        return Errc::again;
    }
    leases_.revoke(lease);
    return Errc::ok;
}

void Fences::check(WorkQueue& ended, TimeUs now) noexcept {
    const std::lock_guard lock(mutex_);
    for (auto fence = fences_.begin(); fence != fences_.end();) {
        const bool over = leases_.close(fence->held);
        if (fence->lease && (over || now > fence->until)) {
            na::Lease& lease = *std::exchange(fence->lease, nullptr);
            lease.key = 0;
            lease.fence_failed = !over;
            ended.push_back(lease.fenced);
        }
        if (over) leases_.revoke(fence->held);
        fence = over ? fences_.erase(fence) : std::next(fence);
    }
    pending_.store(static_cast<std::uint32_t>(fences_.size()), std::memory_order_seq_cst);
}

}  // namespace cinnabar::ofi
