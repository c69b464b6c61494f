// SPDX-License-Identifier: BSD-3-Clause
// The threads that sleep in progress() of a context, or in a foreign event loop on its wait_fd(), and the eventfd that
// wakes them. Any thread, except members marked "Owner".
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <atomic>
#include <cstdint>

namespace cinnabar::na {

class Sleepers {
  public:
    // Makes the eventfd and adds it to `epoll`, with no data. False: errno says why.
    [[nodiscard]] bool open(int epoll) noexcept;

    // Wakes all sleeping threads, also one that is about to sleep.
    void ring() noexcept;
    void ring_if_any() noexcept {
        if (any_thread() || foreign_.load(std::memory_order_seq_cst)) ring();
    }
    // Whether a thread sleeps. Sequentially consistent: if a thread has pushed work and sees no sleeper here, the next
    // thread that goes to sleep sees the work.
    [[nodiscard]] bool any_thread() const noexcept { return count_.load(std::memory_order_seq_cst) != 0; }

    // Owner. `until`: when the thread wakes by itself.
    void add(TimeUs until) noexcept;
    void remove() noexcept { count_.fetch_sub(1, std::memory_order_relaxed); }
    void count_sleep() noexcept { sleeps_.fetch_add(1, std::memory_order_relaxed); }
    // Call begin_foreign_wait() before looking for something to do.
    void begin_foreign_wait() noexcept { foreign_.store(true, std::memory_order_seq_cst); }
    void end_foreign_wait() noexcept { foreign_.store(false, std::memory_order_relaxed); }
    void set_until(TimeUs until) noexcept { until_.store(until, std::memory_order_relaxed); }
    [[nodiscard]] bool any() const noexcept { return any_thread() || foreign_.load(std::memory_order_relaxed); }
    [[nodiscard]] TimeUs until() const noexcept { return until_.load(std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t sleeps() const noexcept { return sleeps_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t rings() const noexcept { return rings_.load(std::memory_order_relaxed); }

  private:
    UniqueFd bell_;  // an eventfd, edge-triggered and never read
    std::atomic<std::uint32_t> count_{0};
    std::atomic<TimeUs> until_{time_never};  // when the first of them wakes
    std::atomic<bool> foreign_{false};       // a foreign event loop waits on wait_fd()
    std::atomic<std::uint64_t> sleeps_{0};
    std::atomic<std::uint64_t> rings_{0};
};

}  // namespace cinnabar::na
