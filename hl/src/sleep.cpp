// SPDX-License-Identifier: BSD-3-Clause
#include "node_core.hpp"

#include <cinnabar/hl/sleep.hpp>

#include <algorithm>

namespace cinnabar::hl {

// Lives until the task resumes. Functions run as the owner of the context unless they say otherwise.
struct SleepOp::State : Framed, Sleeper {
    SleepOp& op;
    Loop& loop;
    Executor* executor;
    StopScope* scope;
    TimeUs wakes_us;
    Errc at_wake;
    Errc result = Errc::ok;
    WheelTimer timer;
    WorkItem begin_work;
    WorkItem cancel_work;
    Job job;
    StopNode stop_node;
    std::coroutine_handle<> handle;
    std::atomic<bool> cancel_submitted{false};
    bool cancel_came = false;
    bool begun = false;
    bool asleep = false;

    State(SleepOp& sleep, Loop& on, const TaskContext* task, std::coroutine_handle<> resumes) noexcept
        : op(sleep),
          loop(on),
          executor(executor_of(task)),
          scope(task ? task->stop_scope() : nullptr),
          handle(resumes) {
        const TimeUs wanted = after(loop.now_us(), sleep.span_);
        wakes_us = task ? std::min(wanted, task->deadline_on(loop.clock())) : wanted;
        at_wake = wakes_us < wanted ? Errc::timed_out : Errc::ok;
        this->end = [](Sleeper& self) noexcept { static_cast<State&>(self).wake(Errc::canceled); };
    }

    void begin() noexcept {
        begun = true;
        if (cancel_came) return wake(Errc::canceled);
        asleep = true;
        timer.user = this;
        timer.fire = [](WheelTimer& fired) noexcept {
            State& self = *static_cast<State*>(fired.user);
            self.wake(self.at_wake);
        };
        loop.sleepers.push_back(*this);
        loop.context()->na().arm(timer, wakes_us);
    }

    void wake(Errc with) noexcept {
        asleep = false;
        result = with;
        if (link.linked) loop.sleepers.remove(*this);
        loop.context()->na().disarm(timer);
        if (scope) scope->remove(stop_node);
        // A queued cancel refers to this object and resumes the task when it runs.
        if (!cancel_submitted.load(std::memory_order_acquire) || cancel_came) resume();
    }

    void cancel() noexcept {
        cancel_came = true;
        if (asleep) return wake(Errc::canceled);
        if (begun) resume();
    }

    void resume() noexcept {
        job.user = this;
        job.body = [](Job& done) noexcept {
            auto* self = static_cast<State*>(done.user);
            const std::coroutine_handle<> sleeper = self->handle;
            self->op.result_ = self->result;
            delete self;
            sleeper.resume();
        };
        job.work.user = &job;
        job.work.run = [](WorkItem& completion) noexcept {
            Job& done = *static_cast<Job*>(completion.user);
            State& self = *static_cast<State*>(done.user);
            if (self.executor) return continue_on(*self.executor, done);
            done.body(done);
        };
        loop.context()->na().enqueue(job.work);
    }
};

bool SleepOp::start(const TaskContext* task, std::coroutine_handle<> handle) {
    Loop& loop = node_.pick_loop();
    if (loop.leaving()) return result_ = Errc::canceled, false;
    if (Executor* const executor = executor_of(task)) executor->relies_on(loop);
    auto* state = new State(*this, loop, task, handle);
    state->begin_work.user = state->cancel_work.user = state->stop_node.user = state;
    state->begin_work.run = [](WorkItem& work) noexcept { static_cast<State*>(work.user)->begin(); };
    state->cancel_work.run = [](WorkItem& work) noexcept { static_cast<State*>(work.user)->cancel(); };
    state->stop_node.fire = [](StopNode& node) noexcept {
        State& self = *static_cast<State*>(node.user);
        self.cancel_submitted.store(true, std::memory_order_release);
        self.loop.context()->na().submit(self.cancel_work);
    };
    if (state->scope && !state->scope->add(state->stop_node)) {
        delete state;
        result_ = Errc::canceled;
        return false;
    }
    loop.context()->na().run_owned(state->begin_work);
    return true;
}

}  // namespace cinnabar::hl
