// SPDX-License-Identifier: BSD-3-Clause
// Handlers and callers that are coroutines: nested calls, inherited deadlines and cancels, pools, scopes.
#include "patience.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> twice{"twice"};
constexpr Rpc<int(int)> outer{"outer"};
constexpr Rpc<void()> hang{"hang"};
constexpr Rpc<int()> where{"where"};

class Coroutines : public testing::Test {
  protected:
    Coroutines() {
        (void)server_.serve(twice, [](int value) { return 2 * value; });
        (void)server_.serve(hang, [this](Request<> request) -> Task<Result<void>> {
            hanging_.open();
            hung_ = co_await request.node().sleep_for(1h);
            ended_.open();
            co_return hung_;
        });
    }
    Addr to() { return server_.self_addr(); }

    test::Gate hanging_;
    test::Gate ended_;
    Errc hung_ = Errc::ok;
    Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    Node client_ = Node::open("tcp://").value();
};

Task<Result<int>> add_twice(NodeRef node, Addr to, int a, int b) {
    Result<int> first = co_await node.call(twice, to, a);
    if (!first) co_return first;
    Result<int> second = co_await node.call(twice, to, b);
    if (!second) co_return second;
    co_return *first + *second;
}

TEST_F(Coroutines, a_task_awaits_calls_one_after_the_other) {
    EXPECT_EQ(sync_wait(add_twice(client_, to(), 2, 3)).value(), 10);
}

Task<Result<int>> with_options_in_braces(NodeRef node, Addr to, std::stop_token stop) {
    int sum = 0;
    for (int i = 0; i < 20; ++i) {
        CINNABAR_CO_TRY(const int doubled, co_await node.call(twice, to, i, {.deadline = 20s, .stop = &stop}));
        sum += doubled;
    }
    co_return sum;
}

// g++ 12 would destroy options that have a destructor twice.
TEST_F(Coroutines, options_may_be_written_in_braces_in_a_co_await) {
    std::stop_source stop;
    EXPECT_EQ(sync_wait(with_options_in_braces(client_, to(), stop.get_token())).value(), 380);
    stop.request_stop();
    EXPECT_EQ(sync_wait(with_options_in_braces(client_, to(), stop.get_token())).code(), Errc::canceled);
}

TEST_F(Coroutines, a_node_without_a_thread_is_driven_by_the_waiting_thread) {
    Node unthreaded = Node::open("tcp://", {.progress_thread = false}).value();
    EXPECT_EQ(sync_wait(add_twice(unthreaded, to(), 1, 1)).value(), 4);
    std::vector<std::thread> threads;
    std::atomic<int> sum{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 50; ++k) sum += sync_wait(add_twice(unthreaded, to(), 1, 0)).value();
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum, 4 * 50 * 2);
}

TEST_F(Coroutines, one_thread_drives_two_nodes) {
    Node a = Node::listen("tcp://127.0.0.1:0", {.progress_thread = false}).value();
    Node b = Node::open("tcp://", {.progress_thread = false}).value();
    ASSERT_TRUE(a.serve(twice, [](int value) { return value + value; }).ok());
    const auto both = [&]() -> Task<int> {
        (void)co_await a.sleep_for(1us);  // from now on this thread drives node a, too
        co_return (co_await b.call(twice, a.self_addr(), 4)).value();
    };
    EXPECT_EQ(sync_wait(both()).value(), 8);
}

TEST_F(Coroutines, when_all_keeps_the_order_and_each_outcome) {
    const auto many = [&]() -> Task<int> {
        std::vector<Pending<int>> calls;
        for (int i = 0; i < 100; ++i) calls.push_back(client_.call(twice, to(), i));
        int sum = 0;
        int index = 0;
        for (Result<int>& outcome : co_await when_all(std::move(calls))) sum += outcome.value() == 2 * index++ ? 1 : 0;
        auto [good, bad] = co_await when_all(client_.call(twice, to(), 1), client_.call(where, to()));
        co_return sum + (good.ok() ? 1000 : 0) + (bad.code() == Errc::no_such_rpc ? 10000 : 0);
    };
    EXPECT_EQ(sync_wait(many()).value(), 11100);
}

TEST_F(Coroutines, a_handler_calls_back_over_the_same_connection) {
    ASSERT_TRUE(client_.serve(twice, [](int value) { return 20 * value; }).ok());
    ASSERT_TRUE(server_
                    .serve(outer,
                           [](Request<int> request) -> Task<Result<int>> {
                               co_return co_await request.node().call(twice, request.source(), *request);
                           })
                    .ok());
    EXPECT_EQ(client_.call(outer, to(), 5).wait().value(), 100);
}

TEST_F(Coroutines, a_handler_calls_its_own_node) {
    ASSERT_TRUE(server_
                    .serve(outer,
                           [this](int value) -> Task<int> {
                               co_return (co_await server_.call(twice, to(), value)).value() + 1;
                           })
                    .ok());
    EXPECT_EQ(client_.call(outer, to(), 5).wait().value(), 11);
}

TEST_F(Coroutines, nested_calls_inherit_the_deadline) {
    test::Gate told;
    Errc nested = Errc::ok;
    ASSERT_TRUE(server_
                    .serve(outer,
                           [&](Request<int> request) -> Task<Result<int>> {
                               nested = (co_await request.node().call(hang, to())).code();
                               told.open();
                               co_return nested;
                           })
                    .ok());
    EXPECT_EQ(client_.call(outer, to(), 1, 50ms).wait().code(), Errc::timed_out);
    ASSERT_TRUE(told.wait());
    EXPECT_TRUE(nested == Errc::timed_out || nested == Errc::canceled) << to_string(nested);
    ASSERT_TRUE(ended_.wait());
    EXPECT_TRUE(hung_ == Errc::timed_out || hung_ == Errc::canceled) << to_string(hung_);
}

TEST_F(Coroutines, a_cancel_reaches_the_handler) {
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    Future<void> call = client_.call(hang, to(), {.stop = &token}).future();
    ASSERT_TRUE(hanging_.wait());
    stop.request_stop();
    EXPECT_EQ(call.get().code(), Errc::canceled);
    ASSERT_TRUE(ended_.wait());
    EXPECT_EQ(hung_, Errc::canceled);
}

TEST_F(Coroutines, a_dropped_future_cancels) {
    {
        Future<void> dropped = client_.call(hang, to()).future();
        ASSERT_TRUE(hanging_.wait());
    }
    ASSERT_TRUE(ended_.wait());
    EXPECT_EQ(hung_, Errc::canceled);
}

TEST_F(Coroutines, a_token_of_the_request_follows_the_cancel) {
    test::Gate seen;
    test::Gate running;
    ASSERT_TRUE(server_
                    .serve(outer,
                           [&](Request<int> request) -> Task<int> {
                               const std::stop_callback callback(request.stop_token(), [&] { seen.open(); });
                               running.open();
                               (void)co_await request.node().sleep_for(1h);
                               co_return 0;
                           })
                    .ok());
    {
        Future<int> dropped = client_.call(outer, to(), 1).future();
        ASSERT_TRUE(running.wait());
    }
    EXPECT_TRUE(seen.wait());
}

TEST_F(Coroutines, with_deadline_and_with_stop_end_nested_operations) {
    const auto bounded = [&]() -> Task<Errc> {
        const auto slow = [&]() -> Task<Errc> { co_return co_await client_.sleep_for(1h); };
        co_return co_await with_deadline(slow(), 5ms);
    };
    EXPECT_EQ(sync_wait(bounded()).code(), Errc::timed_out);
    std::stop_source stop;
    stop.request_stop();
    const auto stopped = [&]() -> Task<Errc> {
        co_return (co_await with_stop(client_.call(hang, to()), stop.get_token())).code();
    };
    EXPECT_EQ(sync_wait(stopped()).code(), Errc::canceled);
    EXPECT_EQ(sync_wait(client_.sleep_for(1h), stop.get_token()).code(), Errc::canceled);
    EXPECT_EQ(sync_wait(client_.sleep_for(1ms)).code(), Errc::ok);
}

TEST_F(Coroutines, blocking_on_a_loop_or_a_pool_is_refused) {
    Pool pool = server_.make_pool({.threads = 1}).value();
    const auto block = [this](int value) -> Result<int> { return server_.call(twice, to(), value).wait(); };
    ASSERT_TRUE(server_.serve(outer, block).ok());
    ASSERT_TRUE(server_.serve(outer, block, on(pool), provider(1)).ok());
    EXPECT_EQ(client_.call(outer, to(), 1).wait().code(), Errc::would_deadlock);
    EXPECT_EQ(client_.call(outer, to(), 1, {.provider = 1}).wait().code(), Errc::would_deadlock);
}

TEST_F(Coroutines, a_pool_keeps_its_handlers_off_the_loop) {
    Pool pool = server_.make_pool({.threads = 2, .name = "test"}).value();
    const auto on_pool = [&pool] { return hl::Executor::current() == &pool.executor(); };
    ASSERT_TRUE(server_
                    .serve(
                        where,
                        [&]() -> Task<int> {
                            const bool before = on_pool();
                            (void)co_await server_.call(twice, to(), 1);
                            const bool after = on_pool();
                            (void)co_await server_.sleep_for(1us);
                            co_return before&& after&& on_pool() ? 1 : 0;
                        },
                        on(pool))
                    .ok());
    ASSERT_TRUE(server_
                    .serve(
                        where, [&] { return on_pool() ? 1 : 0; }, on(pool, Priority::high), provider(1))
                    .ok());
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(client_.call(where, to()).wait().value(), 1);
        EXPECT_EQ(client_.call(where, to(), {.provider = 1}).wait().value(), 1);
    }
}

TEST_F(Coroutines, a_full_pool_answers_overloaded_and_does_not_block_the_loop) {
    Pool pool = server_.make_pool({.threads = 1, .queue_max = 1}).value();
    test::Gate busy;
    test::Gate let_go;
    ASSERT_TRUE(server_
                    .serve(
                        where,
                        [&] {
                            busy.open();
                            return let_go.wait() ? 1 : 0;
                        },
                        on(pool))
                    .ok());
    Future<int> first = client_.call(where, to()).future();
    ASSERT_TRUE(busy.wait());
    Future<int> second = client_.call(where, to()).future();
    while (pool.queued() == 0) EXPECT_EQ(client_.call(twice, to(), 1).wait().value(), 2);
    EXPECT_EQ(client_.call(where, to()).wait().code(), Errc::overloaded);
    EXPECT_EQ(client_.call(twice, to(), 1).wait().value(), 2);  // the loop is not blocked
    let_go.open();
    EXPECT_EQ(first.get().value(), 1);
    EXPECT_EQ(second.get().value(), 1);
}

TEST_F(Coroutines, spawned_tasks_are_joined_by_their_scope) {
    std::atomic<int> sum{0};
    const auto parent = [&]() -> Task<int> {
        Scope scope(client_);
        for (int i = 0; i < 10; ++i) {
            const auto child = [](NodeRef node, Addr peer, int value, std::atomic<int>& total) -> Task<void> {
                total += (co_await node.call(twice, peer, value)).value();
            };
            (void)scope.spawn(child(client_, to(), i, sum));
        }
        co_await scope.join();
        co_return sum.load();
    };
    EXPECT_EQ(sync_wait(parent()).value(), 90);
}

TEST_F(Coroutines, a_stopped_scope_ends_its_tasks) {
    const auto parent = [&]() -> Task<int> {
        Scope scope(client_);
        std::atomic<int> canceled{0};
        for (int i = 0; i < 3; ++i) {
            const auto child = [](NodeRef node, std::atomic<int>& count) -> Task<void> {
                if (co_await node.sleep_for(1h) == Errc::canceled) ++count;
            };
            (void)scope.spawn(child(client_, canceled));
        }
        scope.request_stop();
        co_await scope.join();
        co_return canceled.load();
    };
    EXPECT_EQ(sync_wait(parent()).value(), 3);
}

TEST_F(Coroutines, an_exception_of_a_task_is_rethrown_by_the_await) {
    set_log_sink([](const LogLine&, void*) {}, nullptr);
    const auto thrower = []() -> Task<int> {
        throw std::runtime_error("thrown");
        co_return 1;
    };
    const auto catcher = [&]() -> Task<int> {
        try {
            co_return co_await thrower();
        } catch (const std::runtime_error&) {
            co_return 2;
        }
    };
    EXPECT_EQ(sync_wait(catcher()).value(), 2);
    const Result<int> escaped = sync_wait(thrower());
    ASSERT_EQ(escaped.code(), Errc::handler_failed);
    EXPECT_EQ(escaped.error().subject, "thrown");
    const auto bad = [&]() -> Task<int> { co_return (co_await client_.call(where, to())).value(); };
    EXPECT_EQ(sync_wait(bad()).code(), Errc::no_such_rpc);
    ASSERT_TRUE(server_.serve(outer, [&](int) { return thrower(); }).ok());
    EXPECT_EQ(client_.call(outer, to(), 1).wait().code(), Errc::handler_failed);
    set_log_sink(nullptr, nullptr);
}

TEST_F(Coroutines, views_in_arguments_last_as_long_as_the_handler) {
    static constexpr Rpc<std::string(std::string_view)> late{"late"};
    ASSERT_TRUE(server_
                    .serve(late,
                           [this](std::string_view text) -> Task<std::string> {
                               for (int i = 0; i < 3; ++i) (void)co_await server_.call(twice, to(), i);
                               co_return std::string(text);
                           })
                    .ok());
    std::vector<Future<std::string>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(client_.call(late, to(), std::to_string(i) + " is a text").future());
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(calls[static_cast<std::size_t>(i)].get().value(), std::to_string(i) + " is a text");
    }
}

}  // namespace
}  // namespace cinnabar
