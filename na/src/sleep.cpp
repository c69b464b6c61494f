// SPDX-License-Identifier: BSD-3-Clause
// progress(): rounds of polling, a bounded spin, and sleep in the kernel without a lost wake-up.
//
// A thread that is about to sleep adds itself to `sleepers_` while it still owns the context, gives the context up,
// checks once more whether other threads have pushed work, and sleeps. A thread that owns the context afterwards finds
// the sleeper in `sleepers_`, and wakes it if there is something left to do. A thread that only pushes work (submit)
// finds the sleeper, too, because the push and the count of sleepers are sequentially consistent.
#include "context_impl.hpp"
#include "kernel_wait.hpp"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cinnabar::na {
namespace {

// While a port polls hot descriptors itself, epoll is asked for the others at this interval.
constexpr TimeUs kernel_look_us = 20;
constexpr Microseconds spin_step{2};

// Marks the present thread as inside a port during a call.
class InsidePort {
  public:
    explicit InsidePort(CallingUser inside) noexcept : outer_(std::exchange(calling_user, inside)) {
        calling_user.owns = true;
    }
    ~InsidePort() { calling_user = outer_; }
    InsidePort(const InsidePort&) = delete;
    InsidePort& operator=(const InsidePort&) = delete;

  private:
    const CallingUser outer_;
};

constinit KernelWait wait_in_kernel(&::epoll_pwait2);

}  // namespace

void Context::Impl::submit(WorkItem& work) noexcept {
    if (submitted_.push(work)) wake();  // otherwise the thread that pushed the first work wakes
}

// Called by the owner before it gives up the context: wakes a sleeper if there is work, or an earlier timer, that the
// sleeper does not know of.
void Context::Impl::ring_sleeper_if_needed() noexcept {
    if (!sleepers_.any()) return;
    const bool earlier_timer = wheel_.next() < sleepers_.until();
    bool pending = earlier_timer || completions_.count() != 0 || !retries_.empty();
    for (const auto& port : ports_) pending = pending || !port->prepare_wait();
    if (pending) sleepers_.ring();
}

unsigned Context::Impl::dispatch(Look look, TimeUs until) noexcept {
    std::array<epoll_event, 64> events;
    int count = 0;
    if (look == Look::now) {
        count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    } else {
        const TimeUs now = clock_.now_us();
        const TimeUs rest = until > now ? until - now : 0;
        count = wait_in_kernel(epoll_.get(), events, until == time_never ? time_never : rest);
        // Woken: own the context before touching anything.
        own();
        sleepers_.remove();
        refresh_now();
    }
    kernel_looked_at_ = now_;
    const InsidePort inside(inside_);
    unsigned did = 0;
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (auto* target = static_cast<FdEvents*>(event.data.ptr)) {
            target->on_ready(event.events);
            ++did;
        } else {
            rung_ = true;
        }
    }
    return did;
}

unsigned Context::Impl::round(bool about_to_sleep) noexcept {
    unsigned did = run_submitted();
    bool hot = false;
    for (const auto& port : ports_) {
        port->flush();
        const InsidePort inside(inside_);
        did += port->poll();
        hot |= port->hot();
    }
    // Timers fire last: an event that has arrived takes precedence over a deadline that passed meanwhile.
    const TimeUs patience = hot || about_to_sleep ? kernel_look_us : 0;
    if (!virtual_clock_ && now_ - kernel_looked_at_ >= patience) did += dispatch(Look::now, 0);
    did += wheel_.advance(now_);
    return did;
}

bool Context::Impl::ready_to_sleep() noexcept {
    bool ready = true;
    for (const auto& port : ports_) {
        port->flush();
        ready &= port->prepare_wait();
    }
    completions_.publish();
    return ready && retries_.empty() && completions_.count() == 0 && submitted_.empty();
}

// Owner. Gives the context up while asleep, and owns it again on return.
unsigned Context::Impl::sleep(TimeUs until) noexcept {
    until = std::min(until, wheel_.next());
    sleepers_.add(until);
    // This check follows add(), so a thread that creates work later wakes this one.
    if (!ready_to_sleep()) {
        sleepers_.remove();
        return run_submitted();
    }
    if (options_.threads == ThreadUse::many) ownership_.unlock();
    sleepers_.count_sleep();
    if (submitted_.empty()) return dispatch(Look::asleep, until);
    own();
    sleepers_.remove();
    refresh_now();
    return run_submitted();
}

unsigned Context::Impl::progress(Microseconds timeout) noexcept {
    if (closed_ || owned_here()) return 0;
    if (!try_own()) {
        // The thread that owns the context does not sleep while it owns it, so the wait is short.
        if (completions_.count() != 0) return 0;
        if (timeout.count() == 0) {
            // If more threads than cores called progress() in a loop, they would keep the owner from running.
            ::sched_yield();
            return 0;
        }
        own();
    }
    // A `many` context keeps the flag, because another thread may still be in a foreign event loop.
    if (options_.threads == ThreadUse::one) sleepers_.end_foreign_wait();
    const TimeUs started = refresh_now();
    const TimeUs until = after(started, timeout);
    TimeUs spin_end = after(started, spin_);
    bool spun = false;
    unsigned did = 0;
    for (;; refresh_now()) {
        did += round(timeout.count() != 0 && now_ >= spin_end);
        completions_.publish();
        if (did != 0 || rung_ || completions_.count() != 0) break;
        if (virtual_clock_) {
            for (const auto& port : ports_) port->idle(std::min(until, wheel_.next()));
            break;
        }
        if (timeout.count() == 0 || now_ >= until) break;
        if (now_ < spin_end) {
            spun = true;
            if (ownership_.waiters() != 0) {  // do not make a waiting thread wait for a whole spin
                let_go();
                own();
            }
            continue;
        }
        const TimeUs asleep_at = now_;
        did += sleep(until);
        // Adapts the spin: after a short sleep it grows, because spinning would have been cheaper.
        if (now_ - asleep_at < static_cast<TimeUs>(options_.spin_max.count())) {
            spin_ = std::min(options_.spin_max, spin_ * 2 + spin_step);
        } else {
            spin_ /= 2;
        }
        spin_end = now_;
        if (did != 0) {
            did += wheel_.advance(now_);
            break;
        }
    }
    rung_ = false;
    if (did != 0 && spun) spin_ = std::min(options_.spin_max, spin_ + spin_step);
    if (did == 0) {
        let_go();
    } else if (options_.threads == ThreadUse::many) {
        give_up();
    } else if (completions_.count() == 0) {
        flush();
    }
    return did;
}

bool Context::Impl::prepare_foreign_wait() noexcept {
    own();
    sleepers_.begin_foreign_wait();
    const TimeUs now = refresh_now();
    const TimeUs next = wheel_.next();
    bool ready = ready_to_sleep() && next > now;
    if (ready && next != alarm_at_) {
        if (!alarm_) {
            alarm_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
            epoll_event event{};
            event.events = EPOLLIN | EPOLLET;
            ready = alarm_ && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, alarm_.get(), &event) == 0;
        }
        itimerspec alarm{};
        if (next != time_never) alarm.it_value = to_timespec(next);
        ready = ready && ::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &alarm, nullptr) == 0;
        alarm_at_ = ready ? next : time_never;
    }
    sleepers_.set_until(next);
    give_up();
    return ready && completions_.count() == 0;
}

}  // namespace cinnabar::na
