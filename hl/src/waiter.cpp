// SPDX-License-Identifier: BSD-3-Clause
#include "loop.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

namespace cinnabar::hl {
namespace {

thread_local Waiter* the_waiter = nullptr;

}  // namespace

Microseconds Waiter::time_left(TimeUs deadline) const noexcept {
    if (deadline == time_never) return sleep_max;
    const TimeUs now = clock_->now_us();
    if (deadline <= now) return Microseconds{0};
    return std::min(sleep_max, Microseconds{static_cast<std::int64_t>(deadline - now)});
}

bool Waiter::wait_for(Microseconds span) noexcept {
    return wait_until(span == Microseconds::max() ? time_never : after(clock_->now_us(), span));
}

Waiter::Waiter() noexcept {
    ring_.user = this;
    ring_.run = [](WorkItem& work) noexcept {
        static_cast<Waiter*>(work.user)->ringing_.store(false, std::memory_order_release);
    };
}

Waiter::~Waiter() {
    for (Led& led : loops_) {
        led.loop->forget(*this);
        led.loop->release();
    }
    // The thread that called finish() may still be inside it.
    const std::lock_guard lock(mutex_);
    CINNABAR_ASSERT(jobs_.empty());
}

bool Waiter::here() const noexcept { return the_waiter == this; }

void Waiter::relies_on(Loop& loop) noexcept {
    if (!loop.needs_driver()) return;
    if (TimeSource* simulated = loop.simulated_clock()) clock_ = simulated;
    for (const Led& led : loops_) {
        if (led.loop == &loop) return;
    }
    loop.acquire();
    loops_.push_back({&loop});
    watched_.resize(loops_.size());
}

void Waiter::ring_locked() noexcept {
    if (asleep_in_ && !ringing_.exchange(true, std::memory_order_acq_rel)) asleep_in_->context()->na().submit(ring_);
    changed_.notify_one();
}

void Waiter::post(Job& job) noexcept {
    job.work.user = &job;
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job.work);
    ring_locked();
}

void Waiter::finish() noexcept {
    const std::lock_guard lock(mutex_);
    done_ = true;
    ring_locked();
}

void Waiter::kick() noexcept {
    const std::lock_guard lock(mutex_);
    kicked_ = true;
    ring_locked();
}

bool Waiter::finished() noexcept {
    const std::lock_guard lock(mutex_);
    return done_;
}

void Waiter::run_jobs() noexcept {
    WorkQueue ready;
    {
        const std::lock_guard lock(mutex_);
        ready.splice_back(jobs_);
    }
    if (ready.empty()) return;
    const Turn turn(*this);
    while (WorkItem* work = ready.pop_front()) {
        Job& job = *static_cast<Job*>(work->user);
        job.body(job);
    }
}

bool Waiter::wait_until(TimeUs deadline) noexcept {
    outer_ = std::exchange(the_waiter, this);
    bool ended = false;
    for (;;) {
        run_jobs();
        ended = finished();
        if (ended || time_left(deadline).count() == 0) break;
        drive(deadline);
    }
    for (Led& led : loops_) stop_leading(led);
    the_waiter = outer_;
    return ended;
}

void Waiter::stop_leading(Led& led) noexcept {
    if (!std::exchange(led.leading, false)) return;
    // The wake-up may still be queued in a loop.
    while (ringing_.load(std::memory_order_acquire)) {
        led.loop->drive(Microseconds{0});
        ::sched_yield();
    }
    led.loop->stop_leading();
}

// One round over the loops that this thread drives; sleeps if there is nothing to do.
void Waiter::drive(TimeUs deadline) noexcept {
    Led* only = nullptr;
    std::size_t leading = 0;
    for (Led& led : loops_) {
        if (led.loop->leaving()) {
            stop_leading(led);
            continue;
        }
        if (!led.leading) led.leading = led.loop->try_lead(*this);
        if (!led.leading) continue;
        only = &led;
        ++leading;
    }
    if (leading == 0) return block(deadline);
    if (only->loop->simulated_clock()) return only->loop->drive(time_left(deadline));  // a simulated loop never sleeps
    if (leading > 1) return drive_many(deadline, fall_asleep_in(only->loop));
    Loop& loop = *only->loop;
    const bool idle = fall_asleep_in(&loop);
    loop.context()->progress(idle ? time_left(deadline) : Microseconds{0});
    wake_up();
    loop.run_completions();
}

void Waiter::drive_many(TimeUs deadline, bool idle) noexcept {
    // Every loop needs an entry: the thread must not sleep while a loop that is not in the list has work.
    std::size_t count = 0;
    for (const Led& led : loops_) {
        if (!led.leading) continue;
        watched_[count++] = {led.loop->context()->wait_fd(), POLLIN, 0};
        idle = led.loop->context()->prepare_wait() && idle;
    }
    if (idle) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(time_left(deadline));
        (void)::poll(watched_.data(), count, static_cast<int>(left.count()));
    }
    wake_up();
    for (std::size_t i = 0; i < loops_.size(); ++i) {
        if (loops_[i].leading) loops_[i].loop->drive(Microseconds{0});
    }
}

bool Waiter::fall_asleep_in(Loop* loop) noexcept {
    const std::lock_guard lock(mutex_);
    if (!jobs_.empty() || done_ || kicked_) return false;
    asleep_in_ = loop;
    return true;
}

void Waiter::wake_up() noexcept {
    const std::lock_guard lock(mutex_);
    asleep_in_ = nullptr;
    kicked_ = false;
}

void Waiter::block(TimeUs deadline) noexcept {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return !jobs_.empty() || done_ || kicked_; };
    if (deadline == time_never) {
        changed_.wait(lock, ready);
    } else {
        (void)changed_.wait_for(lock, time_left(deadline), ready);
    }
    kicked_ = false;
}

}  // namespace cinnabar::hl
