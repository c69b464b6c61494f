// SPDX-License-Identifier: BSD-3-Clause
// with_executor: gives a task an executor if the awaiting coroutine has none because that coroutine belongs to another
// library. For libraries whose tasks must run on one executor.
#pragma once

#include <cinnabar/hl/task.hpp>

namespace cinnabar::hl {

namespace detail {

struct ContinueOn {
    Executor& executor;
    Job job = {};
    [[nodiscard]] bool await_ready() const noexcept { return executor.here(); }
    void await_suspend(std::coroutine_handle<> handle) noexcept {
        job.resumes(handle);
        executor.post(job);
    }
    void await_resume() const noexcept {}
};

}  // namespace detail

// Runs the task on `executor` if the awaiting coroutine has no executor, and resumes that coroutine on `executor`, too.
// Otherwise runs the task as it is. The executor must outlive the task.
template <typename T>
Task<T> with_executor(Executor& executor, Task<T> task) {
    const TaskContext* outer = co_await this_task();
    TaskContext inner = outer ? *outer : TaskContext{};
    if (!inner.executor) {
        inner.executor = &executor;
        co_await detail::AdoptContext{&inner};
        co_await detail::ContinueOn{executor};
    }
    co_return co_await task;
}

}  // namespace cinnabar::hl
