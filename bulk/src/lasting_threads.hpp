// SPDX-License-Identifier: BSD-3-Clause
// Threads for one kind of far memory: started at first use and never stopped. A forked child does not have the threads,
// and starts threads of its own at its first use.
#pragma once

#include <cinnabar/base/work_threads.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <exception>
#include <mutex>

namespace cinnabar::bulk {

class LastingThreads {
  public:
    explicit constexpr LastingThreads(unsigned count) noexcept : count_(count) {}

    // Null: the system cannot start threads; the next call tries again. Any thread.
    [[nodiscard]] WorkThreads* get() noexcept {
        const std::lock_guard lock(mutex_);
        try {
            if (!threads_ || of_process_ != ::getpid()) threads_ = new WorkThreads(count_);
            of_process_ = ::getpid();
        } catch (const std::exception&) {
            return nullptr;
        }
        return threads_;
    }

  private:
    const unsigned count_;
    std::mutex mutex_;
    WorkThreads* threads_ = nullptr;
    pid_t of_process_ = 0;
};

}  // namespace cinnabar::bulk
