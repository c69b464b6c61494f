// SPDX-License-Identifier: BSD-3-Clause
// sync_wait: runs an awaitable from plain code and blocks until the awaitable has ended. Tasks run on the calling
// thread, which also drives the nodes that have no threads of their own.
#pragma once

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/root.hpp>
#include <cinnabar/hl/waiter.hpp>

namespace cinnabar::hl {

// Returns the outcome of a Task, a Pending call or any other awaitable, as a Result. would_deadlock: called on a loop
// thread, a pool thread or inside a task; nothing was started. A BadResult that is thrown becomes the error inside it;
// any other exception becomes handler_failed with the exception's text.
template <typename A>
requires(!detail::must_be_named<A>) [[nodiscard]] auto sync_wait(A awaitable, std::stop_token stop = {})
    -> detail::ResultOf<detail::Awaited<A&&>> {
    using R = detail::ResultOf<detail::Awaited<A&&>>;
    if (!Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
    StopScope scope;
    Waiter waiter;
    std::optional<R> outcome;
    const TaskContext context{&waiter, time_never, stop.stop_possible() ? &scope : nullptr};
    {
        const std::stop_callback on_stop(stop, [&scope]() noexcept { scope.stop(); });
        const detail::Root root = detail::run_into<A, R>(std::move(awaitable), outcome);
        root.prepare(
            context, [](void* user) noexcept { static_cast<Waiter*>(user)->finish(); }, &waiter);
        Job first;
        first.resumes(root.handle);
        waiter.post(first);
        waiter.wait();
    }
    return *std::move(outcome);
}

// The same for a Pending call: blocks in its wait(), so that no coroutine is made.
template <typename Out>
[[nodiscard]] Result<Out> sync_wait(Pending<Out> call) {
    return call.wait();
}
template <typename Out>
[[nodiscard]] Result<Out> sync_wait(MustBeNamed<Out> call) {
    return call.wait();
}

}  // namespace cinnabar::hl
