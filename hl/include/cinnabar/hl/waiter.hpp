// SPDX-License-Identifier: BSD-3-Clause
// A thread that blocks until something has happened, and meanwhile is an executor: tasks started by sync_wait resume on
// it. It drives the loops that its tasks rely on, where no thread of the library does; of several waiting threads one
// drives a loop and hands over when it is done. Functions: the waiting thread, except where they say "any thread".
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/hl/executor.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

struct pollfd;

namespace cinnabar::hl {

class CINNABAR_API Waiter final : public Executor {
  public:
    Waiter() noexcept;
    // Requires: nothing is posted to it any more.
    ~Waiter();

    // False on a loop or a pool thread, and inside a task: blocking there would be `would_deadlock`.
    [[nodiscard]] static bool may_block() noexcept { return Executor::current() == nullptr; }

    void post(Job& job) noexcept override;  // any thread
    [[nodiscard]] bool here() const noexcept override;
    void relies_on(Loop& loop) noexcept override;
    [[nodiscard]] TimeUs now_us() noexcept override { return clock_->now_us(); }

    // Ends wait(). Any thread; the last thing that touches the waiter.
    void finish() noexcept;
    // Returns when finish() was called.
    void wait() noexcept { (void)wait_for(Microseconds::max()); }
    // The same, or false when `span` was over first; then it can be called again. On the clock of the loops that it
    // relies on; Microseconds::max() is for ever.
    [[nodiscard]] bool wait_for(Microseconds span) noexcept;

    // Another thread stopped driving a loop: look again. Any thread.
    void kick() noexcept;

  private:
    struct Led {
        Loop* loop;  // holds a reference
        bool leading = false;
    };
    [[nodiscard]] bool wait_until(TimeUs deadline) noexcept;
    [[nodiscard]] Microseconds time_left(TimeUs deadline) const noexcept;
    void run_jobs() noexcept;
    [[nodiscard]] bool finished() noexcept;
    void drive(TimeUs deadline) noexcept;
    void drive_many(TimeUs deadline, bool idle) noexcept;
    [[nodiscard]] bool fall_asleep_in(Loop* loop) noexcept;
    void wake_up() noexcept;
    void stop_leading(Led& led) noexcept;
    void block(TimeUs deadline) noexcept;
    void ring_locked() noexcept;

    TimeSource* clock_ = &steady_clock();
    std::vector<Led> loops_;
    std::vector<pollfd> watched_;  // room for one entry per loop
    Waiter* outer_ = nullptr;      // the thread's waiter before this one

    std::mutex mutex_;
    std::condition_variable changed_;
    WorkQueue jobs_;
    Loop* asleep_in_ = nullptr;
    bool done_ = false;
    bool kicked_ = false;
    Work ring_;  // ends the sleep inside a loop
    std::atomic<bool> ringing_{false};
};

}  // namespace cinnabar::hl
