// SPDX-License-Identifier: BSD-3-Clause
// Threads for one kind of far memory: started at first use, and never stopped.
#pragma once

#include <cinnabar/base/work_threads.hpp>

#include <exception>
#include <mutex>

namespace cinnabar::bulk {

class LastingThreads {
  public:
    explicit constexpr LastingThreads(unsigned count) noexcept : count_(count) {}

    // Null: the system can start no threads; the next call tries again. Any thread.
    [[nodiscard]] WorkThreads* get() noexcept {
        const std::lock_guard lock(mutex_);
        try {
            if (!threads_) threads_ = new WorkThreads(count_);
        } catch (const std::exception&) {
            return nullptr;
        }
        return threads_;
    }

  private:
    const unsigned count_;
    std::mutex mutex_;
    WorkThreads* threads_ = nullptr;
};

}  // namespace cinnabar::bulk
