// SPDX-License-Identifier: BSD-3-Clause
// when_all: starts all awaitables (tasks, calls, transfers), resumes when all have ended, and returns their outcomes in
// the same order. A failure does not stop the others. If tasks throw, the first exception in that order is rethrown
// after all awaitables have ended. All awaitables run on the awaiting task's executor.
#pragma once

#include <cinnabar/hl/outcome.hpp>
#include <cinnabar/hl/root.hpp>

#include <atomic>
#include <exception>
#include <tuple>
#include <type_traits>
#include <vector>

namespace cinnabar::hl {
namespace detail {

template <typename T>
struct Child {
    using Value = std::conditional_t<std::is_void_v<T>, NoValue, T>;
    Outcome<Value> outcome;
};

template <typename A, typename T>
Root run_child(A awaitable, Child<T>& child) {
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(awaitable);
            child.outcome.set();
        } else {
            child.outcome.set(co_await std::move(awaitable));
        }
    } catch (...) {
        child.outcome.fail(std::current_exception());
    }
}

// Counts the children that still run, plus one for the code that starts them; the last one resumes the parent.
class Join {
  public:
    explicit Join(std::size_t children) noexcept : left_(children + 1) {}

    void child(Root root, const TaskContext* context) noexcept {
        root.handle.promise().context = context;
        root.handle.promise().user = this;
        root.handle.promise().ended = [](void* user) noexcept {
            auto& join = *static_cast<Join*>(user);
            if (join.arrive()) join.parent_.resume();
        };
        root.handle.resume();
    }
    // For code that starts children: one of them could not be made. Others may run already.
    void child_failed() noexcept { (void)arrive(); }
    void parent(std::coroutine_handle<> handle) noexcept { parent_ = handle; }
    [[nodiscard]] bool arrive() noexcept { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  private:
    std::atomic<std::size_t> left_;
    std::coroutine_handle<> parent_;
};

// If there is no memory for the child, its outcome is std::bad_alloc.
template <typename A, typename T>
void start_child(Join& join, A& awaitable, Child<T>& child, const TaskContext* context) noexcept {
    try {
        join.child(run_child<A>(std::move(awaitable), child), context);
    } catch (...) {
        child.outcome.fail(std::current_exception());
        join.child_failed();
    }
}

template <typename Start>
struct JoinAwaiter {
    Join join;
    Start start;  // (Join&, context)
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    bool await_suspend(std::coroutine_handle<Promise> parent) {
        join.parent(parent);
        start(join, context_of(parent));
        return !join.arrive();
    }
    void await_resume() const noexcept {}
};
template <typename Start>
JoinAwaiter<Start> join_all(std::size_t children, Start start) {
    return {Join(children), std::move(start)};
}

}  // namespace detail

// Returns a tuple of the outcomes; NoValue for void.
template <typename... A>
requires(sizeof...(A) >
         0) Task<std::tuple<typename detail::Child<detail::Awaited<A&&>>::Value...>> when_all(A... awaitables) {
    std::tuple<detail::Child<detail::Awaited<A&&>>...> children;
    std::tuple<A*...> sources{&awaitables...};
    auto all = detail::join_all(sizeof...(A), [&](detail::Join& join, const TaskContext* context) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (detail::start_child(join, *std::get<I>(sources), std::get<I>(children), context), ...);
        }
        (std::index_sequence_for<A...>{});
    });
    co_await all;
    using Outcomes = std::tuple<typename detail::Child<detail::Awaited<A&&>>::Value...>;
    co_return std::apply([](auto&... child) { return Outcomes(child.outcome.take()...); }, children);
}

// Returns a vector of the outcomes.
template <typename A>
Task<std::vector<typename detail::Child<detail::Awaited<A&&>>::Value>> when_all(std::vector<A> awaitables) {
    std::vector<detail::Child<detail::Awaited<A&&>>> children(awaitables.size());
    auto all = detail::join_all(awaitables.size(), [&](detail::Join& join, const TaskContext* context) {
        for (std::size_t i = 0; i < awaitables.size(); ++i) {
            detail::start_child(join, awaitables[i], children[i], context);
        }
    });
    co_await all;
    std::vector<typename detail::Child<detail::Awaited<A&&>>::Value> outcomes;
    outcomes.reserve(children.size());
    for (auto& child : children) outcomes.push_back(child.outcome.take());
    co_return outcomes;
}

}  // namespace cinnabar::hl
