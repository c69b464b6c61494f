// SPDX-License-Identifier: BSD-3-Clause
// Threads for blocking disk I/O, so that the loop never waits for it: `co_await disk.run(f)` runs f on a disk thread
// and resumes the task on its own executor. Jobs start in the order in which they were queued.
#pragma once

#include <cinnabar/base/work_threads.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/task.hpp>

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

namespace cinnabar::files {

class Disk {
  public:
    // A piece of blocking work. Lives in the task that awaits it, so queueing allocates nothing.
    struct Errand {
        WorkItem queued;
        void (*work)(Errand& self) noexcept = nullptr;
        hl::Job job;
        hl::Executor* executor = nullptr;  // null: no task waits; the errand deletes itself
    };

    // The destructor waits until all queued work has run. Nothing may be queued after that.
    explicit Disk(unsigned threads) : count_(threads), threads_(threads) {}

    [[nodiscard]] unsigned threads() const noexcept { return count_; }

    template <typename F>
    struct [[nodiscard]] Run : Errand {
        using Value = std::invoke_result_t<F&>;
        static_assert(!std::is_void_v<Value>, "the function must return its result");
        Disk& disk;
        F f;
        std::optional<Value> value;

        Run(Disk& on, F function) : disk(on), f(std::move(function)) {
            work = [](Errand& self) noexcept {
                auto& run = static_cast<Run&>(self);
                run.value.emplace(run.f());
            };
        }
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <typename Promise>
        void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
            job.resumes(handle);
            executor = hl::context_of(handle)->executor;
            disk.queue(*this);
        }
        Value await_resume() { return *std::move(value); }
    };
    // `f` takes no arguments, returns a movable value and must not throw. It may refer to locals of the awaiting task.
    template <typename F>
    Run<F> run(F f) {
        return Run<F>(*this, std::move(f));
    }
    // Runs `f` without anybody waiting for it, then destroys it. `f` must not throw.
    template <typename F>
    void start(F f) {
        struct Started : Errand {
            F run;
            explicit Started(F what) : run(std::move(what)) {
                work = [](Errand& self) noexcept {
                    auto& started = static_cast<Started&>(self);
                    started.run();
                    delete &started;
                };
            }
        };
        queue(*new Started(std::move(f)));
    }
    // Destroys `garbage` on a disk thread, because closing or removing a large file may take long.
    template <typename T>
    void dispose(T garbage) {
        start([held = std::move(garbage)] {});
    }

  private:
    void queue(Errand& errand) noexcept {
        errand.queued.user = &errand;
        errand.queued.run = [](WorkItem& queued) noexcept {
            auto& self = *static_cast<Errand*>(queued.user);
            hl::Executor* const executor = self.executor;
            self.work(self);
            if (executor) executor->post(self.job);  // the task may resume and destroy this
        };
        threads_.queue(errand.queued);
    }
    const unsigned count_;
    WorkThreads threads_;
};

}  // namespace cinnabar::files
