// SPDX-License-Identifier: BSD-3-Clause
// Bounds in time and by a stop token for everything below an awaitable.
#pragma once

#include <cinnabar/hl/task.hpp>

#include <algorithm>

namespace cinnabar::hl {

// Runs a task under an earlier deadline: each call, transfer and sleep in it ends with timed_out once `span` (from the
// moment it is awaited) is over. The task itself goes on to its end: it sees the error and decides.
template <typename A>
Task<detail::Awaited<A&&>> with_deadline(A awaitable, Microseconds span) {
    const TaskContext* outer = co_await this_task();
    TaskContext inner = outer ? *outer : TaskContext{};
    inner.deadline = std::min(inner.deadline, after(outer ? outer->executor->now_us() : steady_clock().now_us(), span));
    co_await detail::AdoptContext{&inner};
    co_return co_await std::move(awaitable);
}

// Runs a task under a stop token besides that of the task around it.
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
