// SPDX-License-Identifier: BSD-3-Clause
// Threads for work that may block, such as reading a file, so that no thread that drives a context waits for it.
// Thread-safe.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/work.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar {

class CINNABAR_API WorkThreads {
  public:
    // Starts them, with signals blocked: those belong to the program's own threads. Throws std::system_error when the
    // system has no thread to give.
    explicit WorkThreads(unsigned threads);
    // Waits until everything that is queued has run. Nothing may be queued any more.
    ~WorkThreads();
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;

    // Runs `work` once, on one of them. Works begin in the order in which they were queued. Allocates nothing.
    void queue(Work& work) noexcept;

  private:
    void serve() noexcept;
    void stop() noexcept;
    std::mutex mutex_;
    std::condition_variable changed_;
    WorkQueue queue_;
    unsigned idle_ = 0;
    bool closing_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cinnabar
