// SPDX-License-Identifier: BSD-3-Clause
#include "outgoing_quota.hpp"

#include <algorithm>

namespace cinnabar::hl {

bool OutgoingQuota::fits(const Use& use, std::uint64_t bytes, std::uint32_t calls_max,
                         std::uint64_t bytes_max) noexcept {
    if (use.calls == 0) return true;
    if (calls_max != 0 && use.calls >= calls_max) return false;
    return bytes_max == 0 || (use.bytes < bytes_max && bytes <= bytes_max - use.bytes);
}

bool OutgoingQuota::fits_node(const Wish& wish) const noexcept {
    return fits(all_, wish.bytes, options_.node_calls, options_.node_bytes);
}

bool OutgoingQuota::fits_peer(const Wish& wish) const noexcept {
    const auto own = peers_.find(key(wish));
    return own == peers_.end() || fits(own->second, wish.bytes, options_.peer_calls, options_.peer_bytes);
}

// Waiting calls go first, unless they wait for the quota of another peer.
bool OutgoingQuota::goes_at_once(const Wish& wish) const noexcept {
    if (!fits_node(wish) || !fits_peer(wish)) return false;
    return std::none_of(waiting_.begin(), waiting_.end(), [&](const Waiter* waiter) {
        return waiter->wish.peer == wish.peer || fits_peer(waiter->wish);
    });
}

void OutgoingQuota::take(const Wish& wish) {
    Use& own = peers_[key(wish)];
    own.peer = wish.peer;
    for (Use* use : {&own, &all_}) {
        ++use->calls;
        use->bytes += wish.bytes;
    }
}

// Whether this call exceeds the quota of its peer, or an earlier call to that peer does.
bool OutgoingQuota::holds_up_peer(const Wish& wish) noexcept {
    const auto own = peers_.find(key(wish));
    if (own == peers_.end()) return false;
    if (!fits(own->second, wish.bytes, options_.peer_calls, options_.peer_bytes)) own->second.held_up = looks_;
    return own->second.held_up == looks_;
}

// Starts waiting calls in order. A call that exceeds the quota of its peer holds up later calls to that peer only; a
// call that exceeds the node's quota holds up all later calls.
void OutgoingQuota::wake() noexcept {
    ++looks_;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
        Waiter& waiter = **each;
        if (holds_up_peer(waiter.wish)) {
            ++each;
            continue;
        }
        if (!fits_node(waiter.wish)) return;
        take(waiter.wish);  // allocates nothing, because wait() has made the entry
        --peers_.find(key(waiter.wish))->second.waiting;
        each = waiting_.erase(each);
        waiter.let_go = true;
        waiter.pause.stop();
    }
}

void OutgoingQuota::wait(Waiter& waiter) {
    Use& own = peers_[key(waiter.wish)];
    own.peer = waiter.wish.peer;
    waiter.number = ++numbers_;
    waiting_.insert(&waiter);
    ++own.waiting;
}

void OutgoingQuota::end_wait(Waiter& waiter) noexcept {
    waiting_.erase(&waiter);
    const auto own = peers_.find(key(waiter.wish));
    if (--own->second.waiting == 0 && own->second.calls == 0) peers_.erase(own);
}

bool OutgoingQuota::enters_at_once(const Wish& wish) {
    const std::lock_guard lock(mutex_);
    if (!goes_at_once(wish)) return false;
    take(wish);
    return true;
}

Task<Errc> OutgoingQuota::enter(NodeRef node, Wish wish) {
    const TaskContext* const outer = co_await this_task();
    StopScope pause(outer->stop_scope());
    TaskContext inner = *outer;
    inner.stop = &pause;
    inner.request = nullptr;
    Waiter waiter{wish, outer->deadline, 0, pause};
    {
        const std::lock_guard lock(mutex_);
        if (goes_at_once(wish)) {
            take(wish);
            co_return Errc::ok;
        }
        if (waiting_.size() >= options_.waiting_max) co_return Errc::overloaded;
        wait(waiter);
    }
    co_await detail::AdoptContext{&inner};
    constexpr Microseconds for_ever = std::chrono::hours(24 * 365);
    const Errc slept = co_await node.sleep_for(for_ever);
    const std::lock_guard lock(mutex_);
    if (waiter.let_go) co_return Errc::ok;
    end_wait(waiter);
    wake();  // starts the calls that this one held up
    co_return slept == Errc::ok ? Errc::timed_out : slept;
}

void OutgoingQuota::leave(const Wish& wish) noexcept {
    const std::lock_guard lock(mutex_);
    const auto own = peers_.find(key(wish));
    for (Use* use : {&own->second, &all_}) {
        --use->calls;
        use->bytes -= wish.bytes;
    }
    if (own->second.calls == 0 && own->second.waiting == 0) peers_.erase(own);
    wake();
}

}  // namespace cinnabar::hl
