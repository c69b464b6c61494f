// SPDX-License-Identifier: BSD-3-Clause
// Threads of one kind of far memory: started at the first use, and there until the process ends.
#pragma once

#include <cinnabar/base/work_threads.hpp>

#include <exception>
#include <mutex>

namespace cinnabar::bulk {

class LastingThreads {
  public:
    explicit constexpr LastingThreads(unsigned count) noexcept : count_(count) {}

    // Null: the system has no threads to give; it is asked again the next time. Any thread.
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
