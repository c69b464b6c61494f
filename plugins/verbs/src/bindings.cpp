// SPDX-License-Identifier: BSD-3-Clause
#include "bindings.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::verbs {

LeasesToBind::~LeasesToBind() {
    if (bindings_) bindings_->forget(*this);
}

void Bindings::wait_no_longer(LentMemory& lent) noexcept {
    if (LeasesToBind* const peer = std::exchange(lent.waits_at, nullptr))
        peer->waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Bindings::add(LentMemory& lent, LeasesToBind& peer) noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(lent.confined, true)) return;
    peer.bindings_ = this;
    lent.waits_at = &peer;
    peer.list_.push_back(lent);
    peer.waiting_.fetch_add(1, std::memory_order_relaxed);
}

void Bindings::take(LeasesToBind& peer, LentList& bound, std::uint32_t most, BindRequests& out) noexcept {
    const std::lock_guard lock(mutex_);
    out.count = 0;
    const auto room = std::min<std::size_t>(most, out.requests.size());
    while (out.count < room) {
        // Only the last lease in `bound` can be bound in part.
        LentMemory* lent = bound.back();
        if (!lent || !lent->waits_at) {
            lent = peer.list_.pop_front();
            if (!lent) return;
            bound.push_back(*lent);
            lent->bound_in = &bound;
        }
        const std::size_t i = lent->binds_begun++;
        ibv_send_wr& request = out.requests[out.count];
        build_bind(*lent->windows[i], lent->segments[i], *lent->registrations[i], lent->window_access, request);
        if (out.count > 0) out.requests[out.count - 1].next = &request;
        out.lent[out.count++] = lent;
        ++lent->binds_out;
        if (lent->binds_begun == lent->windows.size()) wait_no_longer(*lent);
    }
}

na::Lease* Bindings::completed(LentMemory& lent) noexcept {
    const std::lock_guard lock(mutex_);
    if (--lent.binds_out > 0 || !lent.revoked) return nullptr;
    if (LentList* const bound = std::exchange(lent.bound_in, nullptr)) bound->remove(lent);
    return std::exchange(lent.revoked, nullptr);
}

bool Bindings::leave(LentMemory& lent, na::Lease& lease) noexcept {
    const std::lock_guard lock(mutex_);
    if (lent.waits_at && !lent.bound_in) lent.waits_at->list_.remove(lent);
    wait_no_longer(lent);
    if (lent.binds_out > 0) {
        lent.revoked = &lease;
        return false;
    }
    if (LentList* const bound = std::exchange(lent.bound_in, nullptr)) bound->remove(lent);
    return true;
}

void Bindings::stop(LentList& bound) noexcept {
    const std::lock_guard lock(mutex_);
    if (LentMemory* const lent = bound.back()) wait_no_longer(*lent);
}

void Bindings::release(LentList& bound) noexcept {
    const std::lock_guard lock(mutex_);
    while (LentMemory* const lent = bound.pop_front()) {
        wait_no_longer(*lent);
        lent->bound_in = nullptr;
        lent->windows.clear();
    }
}

void Bindings::forget(LeasesToBind& peer) noexcept {
    const std::lock_guard lock(mutex_);
    while (LentMemory* const lent = peer.list_.pop_front()) lent->waits_at = nullptr;
}

}  // namespace cinnabar::verbs
