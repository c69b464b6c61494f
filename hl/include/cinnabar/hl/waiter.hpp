// SPDX-License-Identifier: BSD-3-Clause
// Waiter: blocks a thread until an event. While the thread blocks, the Waiter is an executor, on which the tasks of
// sync_wait resume, and drives the loops that its tasks rely on, if the library has no threads for these loops. If
// several threads wait for a loop, one thread drives the loop, and hands the loop over to another thread when its own
// wait is done. Call the functions on the waiting thread, unless they say "any thread".
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
    // Requires: nothing is posted to the Waiter any more.
    ~Waiter();

    // False on a loop or a pool thread, and inside a task: blocking there would be `would_deadlock`.
    [[nodiscard]] static bool may_block() noexcept { return Executor::current() == nullptr; }

    void post(Job& job) noexcept override;  // any thread
    [[nodiscard]] bool here() const noexcept override;
    void relies_on(Loop& loop) noexcept override;
    // The real clock, until a task relies on a loop with a simulated one.
    [[nodiscard]] TimeSource& clock() noexcept override { return *clock_; }

    // Ends wait(). Any thread; the caller must not touch the waiter afterwards.
    void finish() noexcept;
    // Blocks until finish() is called.
    void wait() noexcept { (void)wait_for(Microseconds::max()); }
    // Like wait(), but returns false after `span`; the waiter can then wait again. `span` is measured with the clock of
    // the loops that the waiter drives. Microseconds::max() means for ever.
    [[nodiscard]] bool wait_for(Microseconds span) noexcept;

    // Wakes the waiter, which may take over a loop that another thread has stopped driving. Any thread.
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
    Waiter* outer_ = nullptr;      // the thread's previous waiter

    std::mutex mutex_;
    std::condition_variable changed_;
    WorkQueue jobs_;
    Loop* asleep_in_ = nullptr;
    bool done_ = false;
    bool kicked_ = false;
    WorkItem ring_;  // wakes the thread when it sleeps inside a loop
    std::atomic<bool> ringing_{false};
};

}  // namespace cinnabar::hl
