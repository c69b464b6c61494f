// SPDX-License-Identifier: BSD-3-Clause
// Scope: starts tasks that are not awaited one by one, and joins them together. Each node has one.
#pragma once

#include <cinnabar/hl/root.hpp>

#include <memory>
#include <mutex>
#include <new>

namespace cinnabar::hl {

class NodeCore;
class NodeRef;

// The part of a scope that its tasks use.
class CINNABAR_API ScopeCore {
  public:
    ScopeCore(NodeCore& node, StopScope* parent) noexcept : node_(node), stop_(parent) {}
    // Requires: all of its tasks have ended.
    ~ScopeCore();

    // False once the node is being destroyed.
    [[nodiscard]] bool enter() noexcept;
    void leave() noexcept;
    // True if nothing runs; otherwise `joiner` is posted to `executor` when the last task has ended.
    [[nodiscard]] bool join(Executor& executor, Job& joiner) noexcept;
    [[nodiscard]] StopScope& stop() noexcept { return stop_; }
    [[nodiscard]] NodeCore& node() noexcept { return node_; }
    // The default executor of tasks.
    [[nodiscard]] Executor& home() noexcept;

  private:
    NodeCore& node_;
    StopScope stop_;
    std::mutex mutex_;
    std::size_t running_ = 0;
    Executor* join_executor_ = nullptr;
    Job* joiner_ = nullptr;
};

namespace detail {

struct Spawned : Framed {
    ScopeCore& scope;
    TaskContext context;
    Job job;

    static void ended(void* user) noexcept {
        auto* self = static_cast<Spawned*>(user);
        ScopeCore& scope = self->scope;
        delete self;
        scope.leave();
    }
};

template <typename T>
Root run_detached(Task<T> task) {
    try {
        (void)co_await task;
    } catch (...) {
        log_exception("a spawned task");
    }
}

template <typename T>
Errc spawn_into(ScopeCore& scope, Task<T> task, Executor* executor) {
    if (!scope.enter()) return Errc::closed;
    const TaskContext context{executor ? executor : &scope.home(), time_never, &scope.stop()};
    try {
        std::unique_ptr<Spawned> made(new Spawned{{}, scope, context, {}});
        const Root root = run_detached(std::move(task));
        Spawned* const spawned = made.release();
        root.prepare(spawned->context, &Spawned::ended, spawned);
        spawned->job.resumes(root.handle);
        context.executor->post(spawned->job);
        return Errc::ok;
    } catch (const std::bad_alloc&) {
        scope.leave();
        return Errc::out_of_memory;
    }
}

}  // namespace detail

// A set of tasks. request_stop() stops the tasks, and so does closing the node. The destructor stops nothing, and waits
// for nothing. Requires: `co_await scope.join()` before the scope is destroyed.
class CINNABAR_API Scope {
  public:
    explicit Scope(const NodeRef& node);

    // See NodeRef::spawn.
    template <typename T>
    Errc spawn(Task<T> task) {
        return detail::spawn_into(core_, std::move(task), nullptr);
    }
    template <typename T>
    Errc spawn(Task<T> task, Executor& executor) {
        return detail::spawn_into(core_, std::move(task), &executor);
    }
    void request_stop() noexcept { core_.stop().stop(); }
    [[nodiscard]] std::stop_token stop_token() { return core_.stop().token(); }

    struct Joiner {
        ScopeCore& core;
        Job job;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <std::derived_from<PromiseBase> Promise>
        bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
            job.resumes(handle);
            Executor* const executor = executor_of(context_of(handle));
            return !core.join(executor ? *executor : core.home(), job);
        }
        void await_resume() const noexcept {}
    };
    // Resumes when all tasks have ended. Only one join at a time.
    [[nodiscard]] Joiner join() noexcept { return {core_, {}}; }

  private:
    ScopeCore core_;
};

}  // namespace cinnabar::hl
