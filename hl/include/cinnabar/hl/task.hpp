// SPDX-License-Identifier: BSD-3-Clause
// Task<T>: a lazy coroutine. A task starts when it is awaited, inherits executor, deadline and stop scope from the
// coroutine that awaits it, and resumes only on that executor. Await a task once. Destroying a task that has started
// and not ended is a bug, which an assert reports: stop the task and await it instead.
//
// An exception of a task is rethrown by the `co_await`; handlers, spawn and sync_wait turn it into an error.
//
// g++ 12 destroys some temporaries of an expression with a co_await twice: members of an aggregate written in braces,
// captures of a lambda, and both operands of `?:`. For Node::call such arguments are a compile error (call.hpp,
// MustBeNamed). For your own tasks, name such arguments first: `Item item{"a", 3}; co_await put(item)`. clang and later
// g++ are fine.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/smaller.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/frame_pool.hpp>
#include <cinnabar/hl/outcome.hpp>
#include <cinnabar/hl/stop.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

namespace cinnabar::hl {

// Converts a deadline that with_deadline has set on the real clock to the clock of a simulated network. A thread in
// sync_wait, and a coroutine of another library, do not know which clock applies before their first call, transfer or
// sleep. The time of the deadline begins with that operation; no simulated time passes before it. The object lives in
// the frame of with_deadline. One thread at a time uses the object, as with all of a simulated network.
class SimulatedDeadline {
  public:
    // `outer`: that of the enclosing task; may be null.
    SimulatedDeadline(Microseconds span, SimulatedDeadline* outer) noexcept : span_(span), outer_(outer) {}
    // For a deadline that is already known on the simulated clock.
    SimulatedDeadline(TimeSource& clock, TimeUs at) noexcept : clock_(&clock), at_(at) {}

    [[nodiscard]] TimeUs on(TimeSource& clock) noexcept {
        if (clock_ != &clock) {
            clock_ = &clock;
            at_ = after(clock.now_us(), span_);
        }
        return outer_ ? smaller_of(at_, outer_->on(clock)) : at_;
    }

  private:
    Microseconds span_ = Microseconds::max();
    SimulatedDeadline* outer_ = nullptr;
    TimeSource* clock_ = nullptr;  // null: not begun
    TimeUs at_ = time_never;
};

// The context that a task inherits. Owned by the starter of the task (a handler, sync_wait, a scope), which outlives
// the task.
struct TaskContext {
    Executor* executor = nullptr;
    TimeUs deadline = time_never;            // for every call, transfer and sleep in the task
    StopScope* stop = nullptr;               // null: the task cannot be stopped
    class RequestState* request = nullptr;   // set in handlers, whose stop scope is created on demand
    SimulatedDeadline* simulated = nullptr;  // for operations on a simulated clock, if `deadline` is on the real one

    // The scope that operations of this task register with, created on demand. Null if the task cannot be stopped.
    [[nodiscard]] CINNABAR_API StopScope* stop_scope() const noexcept;
    // The deadline of an operation on this clock.
    [[nodiscard]] TimeUs deadline_on(TimeSource& clock) const noexcept {
        if (!simulated || &clock == &steady_clock()) return deadline;
        return simulated->on(clock);
    }
};

struct PromiseBase : Framed {
    std::coroutine_handle<> continuation = std::noop_coroutine();
    const TaskContext* context = nullptr;

    struct Final {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <std::derived_from<PromiseBase> Promise>
        [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
            return ended.promise().continuation;
        }
        void await_resume() const noexcept {}
    };
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] Final final_suspend() const noexcept { return {}; }
};

// The context of the coroutine behind a handle; null for coroutines of other kinds.
template <typename Promise>
[[nodiscard]] const TaskContext* context_of(std::coroutine_handle<Promise> handle) noexcept {
    if constexpr (std::derived_from<Promise, PromiseBase>)
        return handle.promise().context;
    else
        return nullptr;
}

// The executor of the coroutine with this context. Null for coroutines of other libraries, and for tasks that such a
// coroutine awaits: these tasks have no executor, even if with_deadline or with_stop gave them a context.
[[nodiscard]] inline Executor* executor_of(const TaskContext* context) noexcept {
    return context ? context->executor : nullptr;
}

template <typename T = void>
class Task;

namespace detail {

template <typename T>
struct TaskPromise : PromiseBase {
    Outcome<T> outcome;

    Task<T> get_return_object() noexcept;
    template <typename U>
    requires std::convertible_to<U&&, T>
    void return_value(U&& value) { outcome.set(std::forward<U>(value)); }
    void unhandled_exception() noexcept { outcome.fail(std::current_exception()); }
    T take() { return outcome.take(); }
};

template <>
struct TaskPromise<void> : PromiseBase {
    std::exception_ptr thrown;

    Task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
    void take() {
        if (thrown) std::rethrow_exception(std::move(thrown));
    }
};

}  // namespace detail

template <typename T>
class [[nodiscard]] Task {
  public:
    using value_type = T;
    using promise_type = detail::TaskPromise<T>;

    Task(Task&& other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), started_(std::exchange(other.started_, false)) {}
    Task& operator=(Task&& other) noexcept {
        Task taken(std::move(other));
        std::swap(handle_, taken.handle_);
        std::swap(started_, taken.started_);
        return *this;
    }
    ~Task() {
        if (!handle_) return;
        CINNABAR_ASSERT(!started_ || handle_.done());
        handle_.destroy();
    }

    // False after a move.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

    struct Awaiter {
        Task& task;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename Promise>
        [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) const noexcept {
            return task.start(parent, context_of(parent));
        }
        T await_resume() const { return task.handle_.promise().take(); }
    };
    [[nodiscard]] Awaiter operator co_await() noexcept { return {*this}; }

    // For code that starts tasks: returns the handle to resume. `context` must outlive the task. Requires: not started.
    [[nodiscard]] std::coroutine_handle<> start(std::coroutine_handle<> continuation,
                                                const TaskContext* context) noexcept {
        CINNABAR_ASSERT(handle_ && !started_);
        started_ = true;
        handle_.promise().continuation = continuation;
        handle_.promise().context = context;
        return handle_;
    }
    // The value of the task; rethrows its exception. For code that called start(). Requires: the task has ended.
    T take() { return handle_.promise().take(); }

  private:
    friend promise_type;
    explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
    bool started_ = false;
};

namespace detail {

template <typename T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
    return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() noexcept {
    return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

struct ReadContext {
    const TaskContext* context = nullptr;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        context = context_of(handle);
        return false;
    }
    [[nodiscard]] const TaskContext* await_resume() const noexcept { return context; }
};

// Replaces the context of the awaiting coroutine, and so of everything that it awaits from now on.
struct AdoptContext {
    const TaskContext* context;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <std::derived_from<PromiseBase> Promise>
    bool await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
        handle.promise().context = context;
        return false;
    }
    void await_resume() const noexcept {}
};

template <typename T>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<Task<T>> = true;

template <typename T>
inline constexpr bool is_result = false;
template <typename T>
inline constexpr bool is_result<Result<T>> = true;

// Maps Result<T> to itself, Errc to Result<void>, any other T to Result<T>.
template <typename T>
struct AsResult {
    using type = Result<T>;
};
template <typename T>
struct AsResult<Result<T>> {
    using type = Result<T>;
};
template <>
struct AsResult<Errc> {
    using type = Result<void>;
};
template <typename T>
using ResultOf = typename AsResult<T>::type;

template <typename A>
decltype(auto) awaiter_of(A&& awaitable) {
    if constexpr (requires { std::forward<A>(awaitable).operator co_await(); })
        return std::forward<A>(awaitable).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<A>(awaitable)); })
        return operator co_await(std::forward<A>(awaitable));
    else
        return std::forward<A>(awaitable);
}
// The type of `co_await` on an A.
template <typename A>
using Awaited = decltype(awaiter_of(std::declval<A>()).await_resume());

// Converts the current exception to an Error. Call it inside a catch block.
[[nodiscard]] CINNABAR_API Error error_of_exception() noexcept;
// Logs that the current exception escaped from `whom`. Call it inside a catch block.
CINNABAR_API void log_exception(std::string_view whom) noexcept;

}  // namespace detail

// Inside a task: `co_await this_task()` gives its context, null outside of Cinnabar's coroutines.
[[nodiscard]] inline detail::ReadContext this_task() noexcept { return {}; }

}  // namespace cinnabar::hl

// As CINNABAR_TRY, in a coroutine: CINNABAR_CO_TRY(const auto answer, co_await node.call(sum, peer, {2, 3}));
#define CINNABAR_CO_TRY(declaration, expression) CINNABAR_CO_TRY_NAMED(declaration, expression, __LINE__)
#define CINNABAR_CO_TRY_NAMED(declaration, expression, line) CINNABAR_CO_TRY_WITH(declaration, expression, line)
#define CINNABAR_CO_TRY_WITH(declaration, expression, line)                     \
    auto cinnabar_try_##line = (expression);                                    \
    if (!cinnabar_try_##line) co_return std::move(cinnabar_try_##line).error(); \
    declaration = *std::move(cinnabar_try_##line)

// CINNABAR_CO_TRY for a Result<void>.
#define CINNABAR_CO_TRY_VOID(expression)                           \
    do {                                                           \
        if (auto cinnabar_tried = (expression); !cinnabar_tried) { \
            co_return std::move(cinnabar_tried).error();           \
        }                                                          \
    } while (false)
