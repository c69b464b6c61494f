// SPDX-License-Identifier: BSD-3-Clause
// Tasks, stop scopes and frames by themselves, without a node.
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::hl {
namespace {

Task<int> give(int value) { co_return value; }
Task<void> count(int& calls) {
    ++calls;
    co_return;
}
Task<int> add(int a, int b) { co_return co_await give(a) + co_await give(b); }

// Suspends until it is resumed by hand.
struct Parked {
    std::coroutine_handle<>& where;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const noexcept { where = handle; }
    void await_resume() const noexcept {}
};
Task<void> park(std::coroutine_handle<>& where) { co_await Parked{where}; }

TEST(Task, starts_only_when_awaited) {
    int calls = 0;
    {
        Task<void> never = count(calls);
        EXPECT_TRUE(static_cast<bool>(never));
    }
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(sync_wait(count(calls)).ok());
    EXPECT_EQ(calls, 1);
}

TEST(Task, gives_values_through_nesting) {
    EXPECT_EQ(sync_wait(add(2, 3)).value(), 5);
    const auto text = []() -> Task<std::string> { co_return "text"; };
    EXPECT_EQ(sync_wait(text()).value(), "text");
    const auto result = []() -> Task<Result<int>> { co_return Errc::busy; };
    EXPECT_EQ(sync_wait(result()).code(), Errc::busy);
    const auto code = []() -> Task<Errc> { co_return Errc::ok; };
    EXPECT_TRUE(sync_wait(code()).ok());
}

TEST(Task, is_used_once_and_moves) {
    Task<int> first = give(1);
    Task<int> second = std::move(first);
    EXPECT_FALSE(static_cast<bool>(first));  // NOLINT(bugprone-use-after-move): what is left of it is the test
    EXPECT_EQ(sync_wait(std::move(second)).value(), 1);
}

void destroy_with_a_child_in_flight() {
    std::coroutine_handle<> parked;
    Waiter waiter;
    const TaskContext context{&waiter, time_never, nullptr, nullptr};
    Task<void> task = park(parked);
    task.start(std::noop_coroutine(), &context).resume();
}

TEST(TaskDeathTest, destroyed_with_a_child_in_flight_is_a_bug) {
    EXPECT_DEATH(destroy_with_a_child_in_flight(), "started_");
}

TEST(Task, blocking_inside_a_task_is_refused) {
    const auto nested = []() -> Task<Errc> { co_return sync_wait(give(1)).code(); };
    EXPECT_EQ(sync_wait(nested()).code(), Errc::would_deadlock);
}

TEST(Task, inherits_the_context_of_its_awaiter) {
    const auto deadline = []() -> Task<TimeUs> { co_return (co_await this_task())->deadline; };
    EXPECT_EQ(sync_wait(deadline()).value(), time_never);
    const TimeUs before = steady_clock().now_us();
    const TimeUs bounded = sync_wait(with_deadline(deadline(), 1h)).value();
    EXPECT_GE(bounded, before + 3'600'000'000u);
    const auto tighter = [&]() -> Task<TimeUs> { co_return co_await with_deadline(deadline(), 2h); };
    const TimeUs tightest = sync_wait(with_deadline(tighter(), 1h)).value();
    EXPECT_LE(tightest, steady_clock().now_us() + 3'600'000'000u);
}

// Resumes its task on the task's executor from a thread of its own.
struct Hop {
    std::thread& thread;
    Job job;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) {
        job.resumes(handle);
        Executor* home = context_of(handle)->executor;
        thread = std::thread([this, home] { home->post(job); });
    }
    void await_resume() const noexcept {}
};

TEST(Task, resumes_on_the_waiting_thread_whoever_wakes_it) {
    std::thread other;
    const auto hop = [&]() -> Task<std::thread::id> {
        co_await Hop{other, {}};
        co_return std::this_thread::get_id();
    };
    EXPECT_EQ(sync_wait(hop()).value(), std::this_thread::get_id());
    other.join();
}

TEST(WhenAll, keeps_the_order_and_waits_for_all_even_after_a_throw) {
    int calls = 0;
    const auto thrower = []() -> Task<int> {
        throw std::runtime_error("first");
        co_return 0;
    };
    const auto all = [&]() -> Task<int> {
        auto [a, nothing, b] = co_await when_all(give(1), count(calls), give(2));
        std::vector<Task<int>> tasks;
        for (int i = 0; i < 5; ++i) tasks.push_back(give(i));
        const std::vector<int> values = co_await when_all(std::move(tasks));
        EXPECT_EQ(values, (std::vector<int>{0, 1, 2, 3, 4}));
        try {
            (void)co_await when_all(thrower(), count(calls));
        } catch (const std::runtime_error&) {
            ++calls;
        }
        EXPECT_TRUE((co_await when_all(std::vector<Task<int>>{})).empty());
        co_return 10 * a + b;
    };
    EXPECT_EQ(sync_wait(all()).value(), 12);
    EXPECT_EQ(calls, 3);
}

TEST(StopScope, tells_once_and_everybody_below) {
    StopScope root;
    StopScope child(&root);
    int fired = 0;
    StopNode node;
    node.user = &fired;
    node.fire = [](StopNode& self) noexcept { ++*static_cast<int*>(self.user); };
    StopNode removed = node;
    ASSERT_TRUE(child.add(node));
    ASSERT_TRUE(root.add(removed));
    root.remove(removed);
    const std::stop_token token = child.token();
    root.stop();
    root.stop();
    EXPECT_EQ(fired, 1);
    EXPECT_TRUE(child.stopped() && token.stop_requested() && root.token().stop_requested());
    EXPECT_FALSE(child.add(node));
    StopScope late(&root);
    EXPECT_TRUE(late.stopped());
}

TEST(StopScope, callbacks_may_use_any_scope) {
    StopScope root;
    StopScope child(&root);
    StopNode node;
    bool added = true;
    const std::stop_callback uses_both(child.token(), [&] {
        added = root.add(node);
        const StopScope late(&child);
        added = added || !late.stopped();
    });
    root.stop();
    EXPECT_FALSE(added);
}

TEST(FramePool, frames_come_back_from_other_threads) {
    std::vector<void*> frames;
    for (int i = 0; i < 1000; ++i) frames.push_back(take_frame(200));
    std::thread([&frames] {
        for (void* frame : frames) give_frame(frame, 200);
    }).join();
    void* again = take_frame(200);
    give_frame(again, 200);
    void* large = take_frame(100'000);
    give_frame(large, 100'000);
}

}  // namespace
}  // namespace cinnabar::hl
