// SPDX-License-Identifier: BSD-3-Clause
// Executor: where coroutines resume: a context's loop, a thread pool, or the thread that blocks in sync_wait. A task
// inherits the executor of the code that starts the task, and resumes only on that executor.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/work.hpp>

#include <coroutine>

namespace cinnabar::hl {

class Loop;

// Work to be run once on an executor. Embedded in the object that waits for it; in at most one queue at a time.
struct Job {
    WorkItem work;  // the executor's own
    // Runs once per post. It may post the job again or destroy it.
    void (*body)(Job& self) noexcept = nullptr;
    void* user = nullptr;
    Loop* loop = nullptr;  // the executor's own

    void resumes(std::coroutine_handle<> handle) noexcept {
        user = handle.address();
        body = [](Job& self) noexcept { std::coroutine_handle<>::from_address(self.user).resume(); };
    }
};

class CINNABAR_API Executor {
  public:
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Runs the job later, on this executor, never inside this call. Any thread.
    virtual void post(Job& job) noexcept = 0;
    // True when the calling code already runs on this executor and needs no post.
    [[nodiscard]] virtual bool here() const noexcept { return current() == this; }
    // Declares that a task of this executor waits for something that only happens while `loop` is driven.
    virtual void relies_on(Loop&) noexcept {}

    // The clock that deadlines of this executor's tasks refer to.
    [[nodiscard]] virtual TimeSource& clock() noexcept { return steady_clock(); }

    // The executor that runs on this thread; null in plain code.
    [[nodiscard]] static Executor* current() noexcept;

    // Makes `executor` the current one until the end of the block.
    class CINNABAR_API Turn {
      public:
        explicit Turn(Executor& executor) noexcept;
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        Executor* before_;
    };

  protected:
    Executor() = default;
    ~Executor() = default;
};

// Runs the job at once if the calling code is on the executor, otherwise posts it.
inline void continue_on(Executor& executor, Job& job) noexcept {
    if (executor.here()) return job.body(job);
    executor.post(job);
}

}  // namespace cinnabar::hl
