// SPDX-License-Identifier: BSD-3-Clause
#include "fair_lock.hpp"

namespace cinnabar::na {

void FairLock::lock() noexcept {
    constexpr unsigned looks_first = 32;
    constexpr unsigned looks_before_sleep = 256;
    // The holder may be about to unlock: try a few times before queueing.
    for (unsigned look = 0; look < looks_first; ++look) {
        if (try_lock()) return;
    }
    for (;;) {
        if (try_lock()) return;
        std::uint32_t seen = state_.load(std::memory_order_relaxed);
        if (seen != 0 && state_.compare_exchange_strong(seen, seen + one_waiter, std::memory_order_seq_cst,
                                                        std::memory_order_relaxed)) {
            break;
        }
    }
    const std::uint64_t ticket = tickets_.fetch_add(1, std::memory_order_relaxed);
    std::atomic<std::uint32_t>& turns = turns_[ticket % turns_.size()];
    const auto before = static_cast<std::uint32_t>(ticket / turns_.size());
    // Tickets whose numbers differ by a multiple of the array's size share a counter, so several tickets may have their
    // turn on it before this one.
    const auto served = [before](std::uint32_t count) { return static_cast<std::int32_t>(count - before) > 0; };
    std::uint32_t seen = turns.load(std::memory_order_acquire);
    for (unsigned look = 0; !served(seen); ++look, seen = turns.load(std::memory_order_acquire)) {
        if (look >= looks_before_sleep) turns.wait(seen, std::memory_order_acquire);
    }
}

// Gives the lock to the next waiting thread. It stays locked meanwhile.
void FairLock::hand_over() noexcept {
    state_.fetch_sub(one_waiter - locked, std::memory_order_seq_cst);
    std::atomic<std::uint32_t>& turns = turns_[turn_++ % turns_.size()];
    turns.fetch_add(1, std::memory_order_release);
    turns.notify_all();
}

}  // namespace cinnabar::na
