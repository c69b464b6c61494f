// SPDX-License-Identifier: BSD-3-Clause
// The effects of the options of nodes, calls, pools and transfers, one by one.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/rpc/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<unsigned()> which{"which"};
constexpr Rpc<void()> hang_there{"hang"};
constexpr Rpc<bool(unsigned)> outer{"outer"};
constexpr Rpc<int()> turn{"turn"};

TEST(Options, each_context_of_a_node_has_a_loop_and_an_identity_of_its_own) {
    Node server = Node::listen("tcp://127.0.0.1:0", {.contexts = 3}).value();
    Node client = Node::open("tcp://", {.contexts = 3, .progress_thread = true}).value();
    std::mutex mutex;
    std::set<const hl::Executor*> loops;
    ASSERT_TRUE(server
                    .serve(which,
                           [&](Request<rpc::Empty> request) -> unsigned {
                               const std::lock_guard lock(mutex);
                               loops.insert(hl::Executor::current());
                               return request.source().body().context;
                           })
                    .ok());
    for (unsigned there = 0; there < 3; ++there) {
        const Addr to = server.rpc_context(there).self_addr();
        for (unsigned here = 0; here < 3; ++here) {
            EXPECT_EQ(client.call(which, to, {.context = here}).wait().value(), here);
        }
        EXPECT_EQ(loops.size(), there + 1) << "each context serves on its own loop";
    }
    EXPECT_EQ(client.call(which, server.self_addr()).wait().value(), 0u) << "the first, unless one is named";
    EXPECT_EQ(client.call(which, server.self_addr(), {.context = 4}).wait().value(), 1u) << "of as many as there are";
    EXPECT_EQ(Node::open("tcp://", {.contexts = 0}).code(), Errc::invalid_argument);
}

TEST(Options, a_call_from_a_handler_takes_the_context_that_runs_it) {
    Node server = Node::listen("tcp://127.0.0.1:0", {.contexts = 2}).value();
    Node middle = Node::listen("tcp://127.0.0.1:0", {.contexts = 2}).value();
    static constexpr Rpc<unsigned()> through{"through"};
    ASSERT_TRUE(
        server.serve(which, [](Request<rpc::Empty> request) -> unsigned { return request.source().body().context; })
            .ok());
    ASSERT_TRUE(middle
                    .serve(through,
                           [to = server.self_addr()](Request<rpc::Empty> request) -> Task<Result<unsigned>> {
                               co_return co_await request.node().call(which, to);
                           })
                    .ok());
    Node client = Node::open("tcp://").value();
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(client.call(through, middle.rpc_context(i).self_addr()).wait().value(), i);
    }
}

TEST(Options, a_pool_takes_high_before_normal_before_low_and_lets_low_in_each_sixteenth_turn) {
    Node server = Node::listen("tcp://127.0.0.1:0").value();
    Node client = Node::open("tcp://", {.progress_thread = true}).value();
    Pool pool = server.make_pool({.threads = 1}).value();
    test::Gate busy;
    test::Gate let_go;
    std::string order;  // written only by the pool's single thread
    const auto serve = [&](rpc::ProviderId id, Priority priority, char name) {
        ASSERT_TRUE(server
                        .serve(
                            turn,
                            [&order, name] {
                                order += name;
                                return 0;
                            },
                            on(pool, priority), provider(id))
                        .ok());
    };
    serve(1, Priority::high, 'h');
    serve(2, Priority::normal, 'n');
    serve(3, Priority::low, 'l');
    ASSERT_TRUE(server
                    .serve(
                        turn,
                        [&] {
                            busy.open();
                            return let_go.wait() ? 1 : 0;
                        },
                        on(pool))
                    .ok());
    Future<int> first = client.call(turn, server.self_addr()).future();
    ASSERT_TRUE(busy.wait());
    std::vector<Future<int>> waiting;
    const auto queue = [&](rpc::ProviderId id, unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            waiting.push_back(client.call(turn, server.self_addr(), {.provider = id}).future());
        }
    };
    queue(3, 2);
    queue(2, 2);
    queue(1, 20);
    while (pool.queued() < 24) std::this_thread::yield();
    let_go.open();
    EXPECT_EQ(first.get().value(), 1);
    for (Future<int>& call : waiting) EXPECT_TRUE(call.get().ok());
    // The job that occupied the thread took the first turn, so the sixteenth turn is the fifteenth of these.
    EXPECT_EQ(order, std::string(14, 'h') + "l" + std::string(6, 'h') + "nn" + "l");
}

TEST(Options, a_nested_call_ends_by_its_own_deadline_or_by_the_one_around_it) {
    std::atomic<Errc> nested{Errc::ok};  // outlives the server, whose handler may still run at the end
    Node server = Node::listen("tcp://127.0.0.1:0").value();
    Node client = Node::open("tcp://").value();
    ASSERT_TRUE(server
                    .serve(hang_there,
                           [](Request<rpc::Empty> request) -> Task<Result<void>> {
                               co_return co_await request.node().sleep_for(1h);
                           })
                    .ok());
    ASSERT_TRUE(
        server
            .serve(outer,
                   [&](Request<unsigned> request) -> Task<Result<bool>> {
                       const TimeUs now = request.node().rpc_context().now_us();
                       const TimeUs around = request.deadline();
                       const Microseconds own{*request};
                       nested =
                           (co_await request.node().call(hang_there, server.self_addr(), {.deadline = own})).code();
                       const TimeUs then = request.node().rpc_context().now_us();
                       // The call ended by its own deadline, before that of the handler.
                       co_return then >= after(now, own) && then < around;
                   })
            .ok());
    EXPECT_TRUE(client.call(outer, server.self_addr(), 20'000u, 60s).wait().value());
    EXPECT_EQ(nested, Errc::timed_out);
    nested = Errc::ok;
    const auto started = std::chrono::steady_clock::now();
    // The handler may still answer at the last moment.
    const Errc around = client.call(outer, server.self_addr(), 3'600'000'000u, 50ms).wait().code();
    EXPECT_TRUE(around == Errc::timed_out || around == Errc::ok) << to_string(around);
    while (nested == Errc::ok) std::this_thread::yield();
    EXPECT_TRUE(nested == Errc::timed_out || nested == Errc::canceled);
    EXPECT_LT(std::chrono::steady_clock::now() - started, 60s);
}

class OnArrival : public testing::TestWithParam<std::string> {};

// Calls in both directions at once, so that handlers on arrival run on threads to which others hand work.
TEST_P(OnArrival, handlers_answer_many_threads_and_may_do_what_others_do) {
    static constexpr Rpc<int(int)> twice{"twice"};
    static constexpr Rpc<int(int)> picky{"picky"};
    constexpr int each = 300;
    Node server = Node::listen(GetParam()).value();
    std::atomic<int> notes{0};
    static constexpr OneWay<int> note{"note"};
    ASSERT_TRUE(server.serve(note, [&](int) { ++notes; }).ok());
    const Addr to = Addr::parse(server.address()).value();
    ASSERT_TRUE(server
                    .serve(
                        twice, [](int n) { return 2 * n; }, on_arrival)
                    .ok());
    ASSERT_TRUE(server
                    .serve(
                        picky,
                        [](Request<int> request) -> Result<int> {
                            if (*request % 3 == 0) return request.fail(7, "a multiple of three");
                            if (*request % 3 == 1 && request.stop_token().stop_requested()) return Errc::canceled;
                            return *request;
                        },
                        on_arrival)
                    .ok());
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            Node client = Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value();
            for (int i = 0; i < each; ++i) {
                if (client.call(twice, to, i, 60s).wait().value() != 2 * i) ++wrong;
                const Result<int> answer = client.call(picky, to, i + t, 60s).wait();
                const bool refused = (i + t) % 3 == 0;
                if (refused ? answer.code() != Errc::application : answer.value() != i + t) ++wrong;
            }
            if (!client.call(note, to, t, 60s).wait().ok()) ++wrong;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    while (notes < 4) std::this_thread::yield();
}

// The calls that the handler starts are answered, although the handler's own thread drives the node.
TEST_P(OnArrival, a_handler_starts_calls_that_end_later) {
    static constexpr Rpc<int(int)> inner{"inner"};
    static constexpr Rpc<void(int)> starts{"starts"};
    Node server = Node::listen(GetParam()).value();
    const Addr to = Addr::parse(server.address()).value();
    std::atomic<int> ended{0};
    ASSERT_TRUE(server
                    .serve(
                        inner, [](int n) { return n; }, on_arrival)
                    .ok());
    ASSERT_TRUE(server
                    .serve(
                        starts,
                        [&](Request<int> request) {
                            request.node().call(inner, to, *request, 60s).then([&ended](Result<int> result) {
                                if (result) ended += *result;
                            });
                        },
                        on_arrival)
                    .ok());
    Node client = Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value();
    ASSERT_TRUE(client.call(starts, to, 5, 60s).wait().ok());
    ASSERT_TRUE(client.call(starts, to, 6, 60s).wait().ok());
    while (ended < 11) std::this_thread::yield();
    EXPECT_EQ(client.call(starts, to, 0, 60s).wait().code(), Errc::ok);
}
INSTANTIATE_TEST_SUITE_P(Transports, OnArrival, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

class Progress : public testing::TestWithParam<std::string> {};

TEST_P(Progress, of_a_transfer_is_told_as_it_grows_and_ends_at_the_whole) {
    static constexpr Rpc<std::vector<std::uint64_t>(Bulk)> take{"take"};
    Node server = Node::listen(GetParam()).value();
    Node client = Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value();
    ASSERT_TRUE(server
                    .serve(take,
                           [](Request<Bulk> request) -> Task<Result<std::vector<std::uint64_t>>> {
                               CINNABAR_CO_TRY(Buffer buffer, request.node().buffers().take(request->size()));
                               std::vector<std::uint64_t> told;
                               const std::function<void(std::uint64_t)> progress = [&told](std::uint64_t bytes) {
                                   told.push_back(bytes);
                               };
                               const Result<std::uint64_t> moved =
                                   co_await request->pull(buffer, {.progress = &progress});
                               if (!moved) co_return moved.error();
                               co_return told;
                           })
                    .ok());
    std::vector<std::byte> memory(24u << 20);
    const Region region = client.expose(std::span<const std::byte>(memory)).value();
    const std::vector<std::uint64_t> told = client.call(take, server.self_addr(), Bulk(region), 60s).wait().value();
    ASSERT_GT(told.size(), 1u) << "more than once for a transfer of many chunks";
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_EQ(std::adjacent_find(told.begin(), told.end()), told.end());
    EXPECT_EQ(told.back(), memory.size());
}
INSTANTIATE_TEST_SUITE_P(Transports, Progress, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
