// SPDX-License-Identifier: BSD-3-Clause
// with_deadline and with_stop: run a task under an earlier deadline, or under an additional stop token.
#pragma once

#include <cinnabar/base/smaller.hpp>
#include <cinnabar/hl/task.hpp>

namespace cinnabar::hl {

// Runs a task under a deadline: `span` after the moment at which the task is awaited, if that is earlier than the
// current deadline. When the deadline passes, calls, transfers and sleeps in the task end with timed_out. The task is
// not aborted: it sees the error and decides what to do. Over a simulated network `span` is simulated time. If
// sync_wait or a coroutine of another library awaits the task, the simulated time begins with the first call, transfer
// or sleep.
template <typename A>
Task<detail::Awaited<A&&>> with_deadline(A awaitable, Microseconds span) {
    const TaskContext* outer = co_await this_task();
    TaskContext inner = outer ? *outer : TaskContext{};
    Executor* const executor = executor_of(outer);
    TimeSource& clock = executor ? executor->clock() : steady_clock();
    inner.deadline = smaller_of(inner.deadline_on(clock), after(clock.now_us(), span));
    SimulatedDeadline simulated(span, inner.simulated);
    inner.simulated = &clock == &steady_clock() ? &simulated : nullptr;
    co_await detail::AdoptContext{&inner};
    co_return co_await std::move(awaitable);
}

// Runs a task under a stop token in addition to that of the enclosing task.
template <typename A>
Task<detail::Awaited<A&&>> with_stop(A awaitable, std::stop_token stop) {
    const TaskContext* outer = co_await this_task();
    StopScope scope(outer ? outer->stop_scope() : nullptr);
    TaskContext inner = outer ? *outer : TaskContext{};
    inner.stop = &scope;
    inner.request = nullptr;
    const std::stop_callback on_stop(stop, [&scope]() noexcept { scope.stop(); });
    co_await detail::AdoptContext{&inner};
    co_return co_await std::move(awaitable);
}

}  // namespace cinnabar::hl
