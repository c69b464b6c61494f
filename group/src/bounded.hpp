// SPDX-License-Identifier: BSD-3-Clause
// Runs a task under the deadline and the stop token of a group's call. Like hl::with_deadline, but always on the node's
// clock.
#pragma once

#include "core.hpp"

#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>

namespace cinnabar::group {

inline TimeSource& clock_of(const hl::NodeRef& node) noexcept { return node.rpc_context().na().clock(); }
inline TimeUs deadline_of(const hl::TaskContext& task, const hl::NodeRef& node) noexcept {
    return task.deadline_on(clock_of(node));
}

template <typename T>
hl::Task<T> run_until(hl::NodeRef node, hl::Task<T> task, TimeUs deadline) {
    const hl::TaskContext* outer = co_await hl::this_task();
    hl::TaskContext inner = outer ? *outer : hl::TaskContext{};
    inner.deadline = std::min(deadline_of(inner, node), deadline);
    hl::SimulatedDeadline simulated(clock_of(node), inner.deadline);  // for with_deadline in the task
    inner.simulated = &clock_of(node) == &steady_clock() ? nullptr : &simulated;
    co_await hl::detail::AdoptContext{&inner};
    co_return co_await task;
}

// `span` 0: the deadline of the enclosing task, or hl::default_deadline.
template <typename T>
hl::Task<T> run_bounded(std::shared_ptr<Core> core, hl::Task<T> task, Microseconds span, std::stop_token stop) {
    const hl::TaskContext* outer = co_await hl::this_task();
    const bool bounded = outer && outer->deadline != time_never;
    if (span.count() == 0) span = bounded ? Microseconds::max() : hl::default_deadline;
    const TimeUs deadline = after(core->now_us(), span);
    if (stop.stop_possible()) {
        auto stoppable = hl::with_stop(std::move(task), std::move(stop));
        auto timed = run_until(core->node, std::move(stoppable), deadline);
        co_return co_await timed;
    }
    auto timed = run_until(core->node, std::move(task), deadline);
    co_return co_await timed;
}

// The time that the enclosing task has left.
inline hl::Task<Microseconds> time_left(std::shared_ptr<Core> core) {
    const hl::TaskContext* task = co_await hl::this_task();
    if (!task || task->deadline == time_never) co_return hl::default_deadline;
    const TimeUs deadline = deadline_of(*task, core->node);
    const TimeUs now = core->now_us();
    co_return Microseconds(deadline > now ? deadline - now : 0);
}

}  // namespace cinnabar::group
