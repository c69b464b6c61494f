// SPDX-License-Identifier: BSD-3-Clause
// SleepOp: returned by Node::sleep_for; a pause on a timer of the node.
#pragma once

#include <cinnabar/hl/task.hpp>

#include <memory>

namespace cinnabar::hl {

class NodeCore;

// A sleep, which starts when it is awaited. ok: the time has passed. timed_out: the task's deadline came first.
// canceled: the task was stopped, or the node closed.
class CINNABAR_API SleepOp {
  public:
    SleepOp(NodeCore& node, Microseconds span) noexcept : node_(node), span_(span) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) {
        return start(context_of(handle), handle);
    }
    [[nodiscard]] Errc await_resume() noexcept { return result_; }

  private:
    struct State;
    [[nodiscard]] bool start(const TaskContext* task, std::coroutine_handle<> handle);

    NodeCore& node_;
    Microseconds span_;
    Errc result_ = Errc::ok;
};

}  // namespace cinnabar::hl
