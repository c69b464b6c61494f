// SPDX-License-Identifier: BSD-3-Clause
// Stopping calls of tasks that run on a loop: from other threads, from the loop itself, and while they end by
// themselves. What such a task costs no atomic instruction for must still end exactly once.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> echo{"stop_test.echo"};
constexpr Rpc<void()> hang{"stop_test.hang"};
constexpr Rpc<void()> relay{"stop_test.relay"};

class Stop : public testing::Test {
  protected:
    Stop() {
        (void)server_.serve(echo, [](int value) { return value; });
        (void)server_.serve(hang, [this](Request<> request) -> Task<Result<void>> {
            if (++hanging_ == wanted_) all_hang_.open();
            co_return co_await request.node().sleep_for(1h);
        });
    }
    [[nodiscard]] Addr to() const { return server_.self_addr(); }
    // Calls `hang` from a task of `scope`, and records how the call ended.
    [[nodiscard]] Task<void> record_hang(NodeRef node, Errc& ended) const {
        ended = (co_await node.call(hang, to())).code();
    }

    unsigned wanted_ = 1;
    std::atomic<unsigned> hanging_{0};
    test::Gate all_hang_;
    Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    Node client_ = Node::open("tcp://").value();
};

TEST_F(Stop, FromAnotherThreadEndsAllCallsOfAScope) {
    wanted_ = 20;
    std::vector<Errc> ended(wanted_, Errc::ok);
    const auto parent = [&]() -> Task<void> {
        Scope scope(client_);
        for (Errc& each : ended) (void)scope.spawn(record_hang(client_, each));
        std::thread stopper([&] {
            (void)all_hang_.wait();
            scope.request_stop();
        });
        co_await scope.join();
        stopper.join();
        // Calls of a stopped scope are not sent.
        Errc late = Errc::ok;
        (void)scope.spawn(record_hang(client_, late));
        co_await scope.join();
        ended.push_back(late);
    };
    ASSERT_TRUE(sync_wait(parent()).ok());
    for (const Errc each : ended) EXPECT_EQ(each, Errc::canceled);
    EXPECT_EQ(hanging_, wanted_);
}

TEST_F(Stop, FromATaskOfTheSameLoopEndsTheCalls) {
    wanted_ = 5;
    std::vector<Errc> ended(wanted_, Errc::ok);
    const auto parent = [&]() -> Task<void> {
        Scope scope(client_);
        for (Errc& each : ended) (void)scope.spawn(record_hang(client_, each));
        const auto stopper = [](NodeRef node, Addr peer, Scope& stopped, test::Gate& gate) -> Task<void> {
            while (!gate.is_open()) (void)co_await node.call(echo, peer, 1);
            stopped.request_stop();
        };
        (void)client_.spawn(stopper(client_, to(), scope, all_hang_));
        co_await scope.join();
    };
    ASSERT_TRUE(sync_wait(parent()).ok());
    for (const Errc each : ended) EXPECT_EQ(each, Errc::canceled);
}

// The first call of the scope decides whose operations it lists without a lock; those of the other loops are stopped
// like these.
TEST_F(Stop, EndsTheCallsOfHandlersOfSeveralLoops) {
    wanted_ = 8;
    Node middle = Node::listen("tcp://127.0.0.1:0", {.contexts = 2}).value();
    std::atomic<int> stopped{0};
    ASSERT_TRUE(middle
                    .serve(relay,
                           [&](Request<> request) -> Task<Result<void>> {
                               const Errc first = (co_await request.node().call(hang, to())).code();
                               if (first == Errc::canceled) ++stopped;
                               co_return first;
                           })
                    .ok());
    {
        std::vector<Future<void>> calls;
        for (unsigned i = 0; i < wanted_; ++i)
            calls.push_back(
                client_.call(relay, middle.self_addr().with_context(static_cast<std::uint8_t>(i % 2))).future());
        ASSERT_TRUE(all_hang_.wait());
    }  // dropped futures cancel
    while (stopped != static_cast<int>(wanted_)) ASSERT_TRUE(client_.call(echo, to(), 1).wait().ok());
}

// Each call ends once, whether its answer or the stop comes first.
TEST_F(Stop, MayCoincideWithTheEndOfCalls) {
    constexpr int rounds = 200;
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> canceled{0};
    const auto caller = [&](NodeRef node, Addr peer) -> Task<void> {
        for (;;) {
            ++begun;
            const Result<int> answer = co_await node.call(echo, peer, 7);
            ++ended;
            if (answer) {
                if (*answer != 7) co_return;
                continue;
            }
            if (answer.code() == Errc::canceled) ++canceled;
            co_return;
        }
    };
    const auto parent = [&](int round) -> Task<void> {
        Scope scope(client_);
        for (int i = 0; i < 4; ++i) (void)scope.spawn(caller(client_, to()));
        const std::uint64_t until = ended + static_cast<std::uint64_t>(round % 7) * 4;
        std::thread stopper([&] {
            while (ended < until) std::this_thread::yield();
            scope.request_stop();
        });
        co_await scope.join();
        stopper.join();
    };
    for (int round = 0; round < rounds; ++round) ASSERT_TRUE(sync_wait(parent(round)).ok());
    EXPECT_EQ(begun, ended);
    EXPECT_EQ(canceled, 4u * rounds);
    EXPECT_EQ(client_.stats().size(), 1u);
    EXPECT_EQ(client_.stats().front().calls, begun.load());
}

// Awaits a call in a task of the loop, but under a scope that no node knows.
Task<void> call_under(hl::StopScope& scope, NodeRef node, Addr peer, Errc& ended) {
    const hl::TaskContext inner{(co_await hl::this_task())->executor, time_never, &scope};
    co_await hl::detail::AdoptContext{&inner};
    ended = (co_await node.call(echo, peer, 1)).code();
}

TEST_F(Stop, OfAScopeThatOutlivesItsLoop) {
    for (const bool stops_before : {false, true}) {
        hl::StopScope scope;
        {
            Node node = Node::open("tcp://").value();
            Errc ended = Errc::busy;
            const auto parent = [&]() -> Task<void> {
                Scope tasks(node);
                (void)tasks.spawn(call_under(scope, node, to(), ended));
                co_await tasks.join();
            };
            ASSERT_TRUE(sync_wait(parent()).ok());
            EXPECT_EQ(ended, Errc::ok);
            if (stops_before) scope.stop();
        }
        scope.stop();
        EXPECT_TRUE(scope.stopped());
    }
}

// A call that is made in a turn of its loop and dropped elsewhere, and the other way round: each is counted as a
// reference to the loop, which outlives its node by them.
TEST_F(Stop, OrNotACallMayBeDroppedAnywhere) {
    std::optional<Node> node = Node::open("tcp://").value();
    std::vector<Pending<int>> kept;
    std::optional<Pending<int>> given = node->call(echo, to(), 1);
    const auto mix = [](NodeRef in, Addr peer, std::vector<Pending<int>>& out,
                        std::optional<Pending<int>>& dropped) -> Task<void> {
        for (int i = 0; i < 10; ++i) out.push_back(in.call(echo, peer, i));
        dropped.reset();
        co_return;
    };
    const auto parent = [&]() -> Task<void> {
        Scope scope(*node);
        (void)scope.spawn(mix(*node, to(), kept, given));
        co_await scope.join();
    };
    ASSERT_TRUE(sync_wait(parent()).ok());
    EXPECT_FALSE(given);
    node.reset();
    for (Pending<int>& call : kept) EXPECT_EQ(std::move(call).wait().code(), Errc::closed);
}

}  // namespace
}  // namespace cinnabar
