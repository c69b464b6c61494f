// SPDX-License-Identifier: BSD-3-Clause
// Completed work of a context, which waits for trigger(). The owner of the context collects the work, and publishes it
// before it gives the context up; any thread may take published work.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/work.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace cinnabar::na {

class CompletionQueue {
  public:
    explicit CompletionQueue(ThreadUse threads) noexcept
        : alone_(threads == ThreadUse::one), publishes_at_once_(alone_) {}

    // Owner.
    void add(WorkItem& work) noexcept {
        fresh_.push_back(work);
        ++fresh_count_;
        if (publishes_at_once_) [[unlikely]]
            publish();
    }
    void publish() noexcept {
        if (fresh_count_ == 0) return;
        if (alone_) return publish_locked();
        const SpinGuard guard(lock_);
        publish_locked();
    }
    // Makes add() publish work at once from now on.
    void publish_at_once() noexcept { publishes_at_once_ = true; }

    // Any thread. Null: nothing is published.
    [[nodiscard]] WorkItem* pop() noexcept {
        if (count() == 0) return nullptr;
        if (alone_) return pop_locked();
        const SpinGuard guard(lock_);
        return pop_locked();
    }
    // The number of published completions.
    [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }

  private:
    class SpinGuard {
      public:
        explicit SpinGuard(std::atomic_flag& flag) noexcept : flag_(flag) {
            if (flag.test_and_set(std::memory_order_acquire)) [[unlikely]]
                wait(flag);
        }
        ~SpinGuard() { flag_.clear(std::memory_order_release); }
        SpinGuard(const SpinGuard&) = delete;
        SpinGuard& operator=(const SpinGuard&) = delete;

      private:
        static void wait(std::atomic_flag& flag) noexcept;
        std::atomic_flag& flag_;
    };

    void publish_locked() noexcept {
        published_.splice_back(fresh_);
        const std::uint32_t added = std::exchange(fresh_count_, 0);
        count_.store(count_.load(std::memory_order_relaxed) + added, std::memory_order_release);
    }
    [[nodiscard]] WorkItem* pop_locked() noexcept {
        WorkItem* const work = published_.pop_front();
        if (work) count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
        return work;
    }

    // Used only by the owner.
    const bool alone_;
    bool publishes_at_once_;  // always with ThreadUse::one
    WorkQueue fresh_;         // not yet published
    std::uint32_t fresh_count_ = 0;

    std::atomic_flag lock_;  // `many` only; guards published_
    WorkQueue published_;
    std::atomic<std::uint32_t> count_{0};
};

}  // namespace cinnabar::na
