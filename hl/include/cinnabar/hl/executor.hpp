// SPDX-License-Identifier: BSD-3-Clause
// Where a coroutine resumes: a context's loop, a pool of threads, or the thread that waits in sync_wait. A task
// inherits its executor from whoever starts it and resumes only there.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/work.hpp>

#include <coroutine>

namespace cinnabar::hl {

class Loop;

// A turn on an executor. Embedded in what waits for it; in at most one queue at a time.
struct Job {
    Work work;  // the executor's own
    // Runs once per post. The job may be posted again, or die, inside it.
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

    // Runs the job later, on this executor; never inside the call. Any thread.
    virtual void post(Job& job) noexcept = 0;
    // True when code that runs right now may go on here without a post.
    [[nodiscard]] virtual bool here() const noexcept { return current() == this; }
    // A task of this executor waits for something that only happens while `loop` is driven.
    virtual void relies_on(Loop&) noexcept {}

    // On the clock that its deadlines are of.
    [[nodiscard]] virtual TimeUs now_us() noexcept { return steady_clock().now_us(); }

    // Whose turn it is in this thread; null in plain code.
    [[nodiscard]] static Executor* current() noexcept;

    // Marks the scope as a turn of an executor.
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

// Runs the job's body at once if this is the place, else posts it.
inline void continue_on(Executor& executor, Job& job) noexcept {
    if (executor.here()) return job.body(job);
    executor.post(job);
}

}  // namespace cinnabar::hl
