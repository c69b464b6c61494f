// SPDX-License-Identifier: BSD-3-Clause
// Threads for work that may block, such as reading a file, so that threads that drive a context do not wait for such
// work. Thread-safe.
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
    // Starts the threads. Signals are blocked in these threads, because signals belong to the program's own threads.
    // Throws std::system_error if the system cannot create a thread.
    explicit WorkThreads(unsigned threads);
    // Waits until all queued work has run. Requires: no thread calls queue() from now on.
    ~WorkThreads();
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;

    // Runs `work` once, on one of the threads. Work is started in the order in which it was queued. Does not allocate.
    void queue(WorkItem& work) noexcept;

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
