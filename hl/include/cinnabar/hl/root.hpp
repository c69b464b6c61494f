// SPDX-License-Identifier: BSD-3-Clause
// Root: the outermost coroutine that sync_wait, when_all, spawn and handlers use to start tasks. When the coroutine
// ends, it frees itself and then calls back.
#pragma once

#include <cinnabar/hl/task.hpp>

namespace cinnabar::hl::detail {

struct Root {
    struct promise_type : PromiseBase {
        // Called after the coroutine frame has been freed; may be null.
        void (*ended)(void* user) noexcept = nullptr;
        void* user = nullptr;

        struct Leave {
            [[nodiscard]] bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<promise_type> root) const noexcept {
                const auto tell = root.promise().ended;
                void* const whom = root.promise().user;
                root.destroy();
                if (tell) tell(whom);
            }
            void await_resume() const noexcept {}
        };
        Root get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        [[nodiscard]] Leave final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    };

    // Starts suspended. Resume it once, on the context's executor, or destroy it.
    std::coroutine_handle<promise_type> handle;

    void prepare(const TaskContext& context, void (*ended)(void*) noexcept, void* user) const noexcept {
        handle.promise().context = &context;
        handle.promise().ended = ended;
        handle.promise().user = user;
    }
};

// Awaits and stores the outcome; an exception becomes an error.
template <typename A, typename R>
Root run_into(A awaitable, std::optional<R>& out) {
    try {
        if constexpr (std::is_void_v<Awaited<A&&>>) {
            co_await std::move(awaitable);
            out.emplace();
        } else {
            out.emplace(co_await std::move(awaitable));
        }
    } catch (...) {
        out.emplace(error_of_exception());
    }
}

}  // namespace cinnabar::hl::detail
