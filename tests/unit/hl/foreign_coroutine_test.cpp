// SPDX-License-Identifier: BSD-3-Clause
// Coroutines of another library await tasks, calls and transfers. What they await has no executor.
#include "support/foreign_coroutine.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/scope.hpp>
#include <cinnabar/hl/with_deadline.hpp>
#include <cinnabar/hl/with_executor.hpp>

#include <gtest/gtest.h>

#include <coroutine>
#include <future>
#include <stop_token>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using Foreign = support::ForeignCoroutine;

class ForeignCoroutine : public testing::Test {
  protected:
    [[nodiscard]] Errc ended() {
        std::future<Errc> end = end_.get_future();
        if (end.wait_for(20s) != std::future_status::ready) return Errc::busy;
        return end.get();
    }
    std::promise<Errc> end_;
    Node node_ = Node::open("self://").value();  // goes first: its thread keeps the promise
};

Task<TimeUs> deadline() { co_return (co_await hl::this_task())->deadline; }
Task<TimeUs> one_hour() { co_return co_await hl::with_deadline(deadline(), 1h); }
Foreign await_deadline(std::promise<TimeUs>& end) { end.set_value(co_await hl::with_deadline(one_hour(), 2h)); }

TEST_F(ForeignCoroutine, GivesTasksADeadline) {
    const TimeUs before = steady_clock().now_us();
    std::promise<TimeUs> end;
    await_deadline(end);
    const TimeUs told = end.get_future().get();
    EXPECT_GE(told, before + 3'600'000'000u);
    EXPECT_LT(told, before + 7'200'000'000u);
}

Foreign await_sleep(const Node& node, std::stop_token stop, std::promise<Errc>& end) {
    const auto nap = [](const Node& on) -> Task<Errc> { co_return co_await on.sleep_for(1h); };
    end.set_value(co_await hl::with_stop(nap(node), std::move(stop)));
}

TEST_F(ForeignCoroutine, StopsASleepingTask) {
    std::stop_source stop;
    await_sleep(node_, stop.get_token(), end_);
    stop.request_stop();
    EXPECT_EQ(ended(), Errc::canceled);
}

Foreign await_sleep_with_deadline(const Node& node, std::promise<Errc>& end) {
    const auto nap = [](const Node& on) -> Task<Errc> { co_return co_await on.sleep_for(1h); };
    end.set_value(co_await hl::with_deadline(nap(node), 1ms));
}

TEST_F(ForeignCoroutine, GivesASleepADeadline) {
    await_sleep_with_deadline(node_, end_);
    EXPECT_EQ(ended(), Errc::timed_out);
}

constexpr Rpc<std::uint64_t(Bulk)> fetch_all{"fetch.all"};

Foreign await_fetch(const Node& node, Bulk bulk, std::promise<Errc>& end) {
    const auto call = [](const Node& from, Bulk lent) -> Task<Errc> {
        const Addr self = from.self_addr();
        const auto result = co_await from.call(fetch_all, self, lent);
        co_return result.ok() && *result == 4096 ? Errc::ok : Errc::protocol;
    };
    end.set_value(co_await hl::with_deadline(call(node, std::move(bulk)), 1h));
}

// The handler is a foreign coroutine as well, below a task that only waits for it.
struct Fetching {
    const Request<Bulk>& request;
    std::uint64_t bytes = 0;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handler) { fetch(*this, handler); }
    [[nodiscard]] std::uint64_t await_resume() const noexcept { return bytes; }

    static Foreign fetch(Fetching& to, std::coroutine_handle<> handler) {
        const auto pull = [](const Request<Bulk>& from) -> Task<std::uint64_t> {
            std::vector<std::byte> memory(4096);
            const Region local = from.node().expose(std::span(memory)).value();
            const Addr source = from.source();
            const auto pulled = co_await from.node().pull(from->remote(), source, local);
            co_return pulled.ok() ? local.bytes() : 0;
        };
        to.bytes = co_await hl::with_deadline(pull(to.request), 1h);
        handler.resume();
    }
};

TEST_F(ForeignCoroutine, GivesATransferADeadline) {
    node_
        .serve(fetch_all,
               [](Request<Bulk> request) -> Task<Result<std::uint64_t>> { co_return co_await Fetching{request}; })
        .value();
    std::vector<std::byte> memory(4096, std::byte{7});
    const Region region = node_.expose(std::span<const std::byte>(memory)).value();
    await_fetch(node_, Bulk(region), end_);
    EXPECT_EQ(ended(), Errc::ok);
}

Foreign await_join(const Node& node, std::promise<Errc>& end) {
    const auto joined = [](const Node& on) -> Task<Errc> {
        hl::Scope scope(on);
        const auto nap = [](const Node& where) -> Task<void> { (void)co_await where.sleep_for(1ms); };
        const Errc spawned = scope.spawn(nap(on));
        co_await scope.join();
        co_return spawned;
    };
    end.set_value(co_await joined(node));
}

TEST_F(ForeignCoroutine, JoinsAScope) {
    await_join(node_, end_);
    EXPECT_EQ(ended(), Errc::ok);
}

struct Ran {
    hl::Executor* inherited = nullptr;
    hl::Executor* on = nullptr;
    TimeUs deadline = 0;
};
Task<Ran> where_it_runs() {
    const hl::TaskContext* context = co_await hl::this_task();
    co_return Ran{context->executor, hl::Executor::current(), context->deadline};
}
Foreign await_on_a_loop(const Node& node, std::promise<Ran>& end) {
    end.set_value(co_await hl::with_deadline(hl::with_executor(node.executor(), where_it_runs()), 1h));
}

TEST_F(ForeignCoroutine, RunsATaskOnAnExecutor) {
    std::promise<Ran> end;
    await_on_a_loop(node_, end);
    const Ran ran = end.get_future().get();
    EXPECT_EQ(ran.inherited, &node_.executor());
    EXPECT_EQ(ran.on, ran.inherited);
    EXPECT_NE(ran.deadline, time_never) << "that of the enclosing task";
}

TEST_F(ForeignCoroutine, TasksKeepTheExecutorThatTheyHave) {
    const auto outer = [](const Node& node) -> Task<Ran> {
        co_return co_await hl::with_executor(node.executor(), where_it_runs());
    };
    const Ran ran = sync_wait(outer(node_)).value();
    EXPECT_NE(ran.inherited, nullptr);
    EXPECT_NE(ran.inherited, &node_.executor()) << "that of the waiting thread";
    EXPECT_EQ(ran.on, ran.inherited);
}

}  // namespace
}  // namespace cinnabar
