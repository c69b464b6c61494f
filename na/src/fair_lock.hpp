// SPDX-License-Identifier: BSD-3-Clause
// A lock that threads acquire in the order in which they began to wait. Not recursive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace cinnabar::na {

class FairLock {
  public:
    // False: a thread holds the lock or waits for it. try_lock() is sequentially consistent even if it fails, because a
    // thread that has pushed work and fails to get the lock relies on the holder to look at the queue again.
    [[nodiscard]] bool try_lock() noexcept {
        if (state_.load(std::memory_order_seq_cst) != 0) return false;
        std::uint32_t free = 0;
        return state_.compare_exchange_strong(free, locked, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    void lock() noexcept;
    void unlock() noexcept {
        if (state_.fetch_sub(locked, std::memory_order_seq_cst) != locked) hand_over();
    }
    // The number of threads that wait in lock(); a snapshot.
    [[nodiscard]] std::uint32_t waiters() const noexcept { return state_.load(std::memory_order_relaxed) / one_waiter; }

  private:
    void hand_over() noexcept;

    // Bit 0: a thread holds the lock. Higher bits: the number of waiting threads. While it is not 0, try_lock() fails.
    static constexpr std::uint32_t locked = 1;
    static constexpr std::uint32_t one_waiter = 2;
    std::atomic<std::uint32_t> state_{0};
    std::atomic<std::uint64_t> tickets_{0};              // the number of tickets given out
    std::uint64_t turn_ = 0;                             // the next ticket to get the lock; guarded by the lock
    std::array<std::atomic<std::uint32_t>, 8> turns_{};  // for each residue of ticket numbers: how many had their turn
};

}  // namespace cinnabar::na
