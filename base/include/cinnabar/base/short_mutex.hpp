// SPDX-License-Identifier: BSD-3-Clause
// ShortMutex: a mutex for sections of a few instructions with little contention. lock() and unlock() take one atomic
// instruction each, without a call into the C library. lock() sleeps while another thread holds the mutex. Not
// recursive.
#pragma once

#include <atomic>

namespace cinnabar {

class ShortMutex {
  public:
    ShortMutex() = default;
    ShortMutex(const ShortMutex&) = delete;
    ShortMutex& operator=(const ShortMutex&) = delete;

    void lock() noexcept {
        int seen = open;
        if (state_.compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed)) return;
        wait();
    }
    void unlock() noexcept {
        if (state_.exchange(open, std::memory_order_release) == awaited) state_.notify_one();
    }

  private:
    static constexpr int open = 0;
    static constexpr int taken = 1;
    static constexpr int awaited = 2;  // taken, and a thread may be sleeping

    [[gnu::noinline]] void wait() noexcept {
        while (state_.exchange(awaited, std::memory_order_acquire) != open) {
            state_.wait(awaited, std::memory_order_relaxed);
        }
    }

    std::atomic<int> state_{open};
};

}  // namespace cinnabar
