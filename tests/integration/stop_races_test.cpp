// SPDX-License-Identifier: BSD-3-Clause
// Stops of calls that a loop lists without a lock (decision 146), in the orders of events that its locks excluded; and
// polls beside another thread that drives the loop, which must not make a second turn of it.
#include "patience.hpp"
#include "support/at_yield.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> twice{"stop_races.twice"};
constexpr Rpc<void()> stays{"stop_races.stays"};
constexpr Rpc<void()> refuses{"stop_races.refuses"};

class StopRaces : public testing::Test {
  protected:
    StopRaces() {
        (void)server_.serve(twice, [](int value) { return 2 * value; });
        (void)server_.serve(refuses, [] { return Result<void>(Error(Errc::overloaded)); });
        (void)server_.serve(stays, [this](Request<> request) -> Task<Result<void>> {
            stays_.open();
            co_return co_await request.node().sleep_for(1h);
        });
    }
    [[nodiscard]] Addr to() const { return server_.self_addr(); }
    [[nodiscard]] static bool within_10s(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
        }
        return true;
    }
    // Spawns the task on the loop of the client, and waits until it has ended.
    void run_on_loop(Task<void> task) {
        const auto joined = [this](Task<void> spawned) -> Task<void> {
            Scope scope(client_);
            EXPECT_EQ(scope.spawn(std::move(spawned)), Errc::ok);
            co_await scope.join();
        };
        ASSERT_TRUE(sync_wait(joined(std::move(task))).ok());
    }

#ifndef NDEBUG
    // Makes a stop that hands its scope over wait for let_go_, but no longer than 1 s. It stays until the nodes, whose
    // threads look at it, are gone.
    void hold_stops() {
        at_yield_.emplace("stop: handed over", [this] { was_let_go_ = let_go_.wait(); });
    }
    test::Gate let_go_{1s};
    std::atomic<bool> was_let_go_{false};
    std::optional<support::AtYield> at_yield_;
#endif
    test::Gate stays_;
    Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    Node client_ = Node::open("tcp://").value();
};

// Awaits a call under a scope that no node knows.
Task<void> twice_under(hl::StopScope& scope, NodeRef node, Addr peer, Errc& ended) {
    const hl::TaskContext inner{(co_await hl::this_task())->executor, time_never, &scope};
    co_await hl::detail::AdoptContext{&inner};
    ended = (co_await node.call(twice, peer, 1)).code();
}

Task<void> stay_under(hl::StopScope& scope, NodeRef node, Addr peer, std::atomic<Errc>& ended) {
    const hl::TaskContext inner{(co_await hl::this_task())->executor, time_never, &scope};
    co_await hl::detail::AdoptContext{&inner};
    (void)co_await node.call(twice, peer, 1);
    ended = (co_await node.call(stays, peer)).code();
}

// The completion of a call that ends early keeps facts for its error while start() is still busy with the call on
// another thread. The thread sanitizer sees what they share.
TEST_F(StopRaces, CallsOfPoolsMayFailBeforeTheyAreWatched) {
    constexpr int calls = 300;
    Pool pool = client_.make_pool({.threads = 2}).value();
    std::atomic<int> failed{0};
    const auto caller = [&](NodeRef node, Addr peer) -> Task<void> {
        for (int i = 0; i < calls; ++i) {
            if ((co_await node.call(refuses, peer)).code() == Errc::overloaded) ++failed;
        }
    };
    const auto parent = [&]() -> Task<void> {
        Scope scope(client_);
        for (int i = 0; i < 2; ++i) (void)scope.spawn(caller(client_, to()), pool.executor());
        co_await scope.join();
    };
    ASSERT_TRUE(sync_wait(parent()).ok());
    EXPECT_EQ(failed, 2 * calls);
}

TEST_F(StopRaces, PollBesideTheThreadOfANodeMakesNoSecondTurn) {
    std::atomic<bool> ended{false};
    const auto caller = [&](NodeRef node, Addr peer) -> Task<void> {
        for (int i = 0; i < 2'000; ++i) EXPECT_TRUE((co_await node.call(twice, peer, i)).ok());
        ended = true;
    };
    std::thread polls([&] {
        while (!ended) client_.poll();
    });
    run_on_loop(caller(client_, to()));
    polls.join();
}

TEST_F(StopRaces, PollBesideAWaitingThreadMakesNoSecondTurn) {
    Node quiet = Node::open("tcp://", {.progress_thread = false}).value();
    std::atomic<bool> ended{false};
    std::thread polls([&] {
        while (!ended) quiet.poll();
    });
    for (int i = 0; i < 500; ++i) ASSERT_EQ(quiet.call(twice, to(), i).wait().value(), 2 * i);
    ended = true;
    polls.join();
}

TEST_F(StopRaces, PollInACallbackDrivesWhatItRunsIn) {
    Node quiet = Node::open("tcp://", {.progress_thread = false}).value();
    bool inner = false;
    bool outer = false;
    quiet.call(twice, to(), 1).then([&](const Result<int>&) {
        quiet.call(twice, to(), 2).then([&](const Result<int>&) { inner = true; });
        EXPECT_TRUE(within_10s([&] { return quiet.poll(), inner; }));
        outer = true;
    });
    EXPECT_TRUE(within_10s([&] { return quiet.poll(), outer; }));
    // The thread that waits for a task leads the loops that the task uses.
    bool third = false;
    const auto polls = [&]() -> Task<void> {
        (void)co_await quiet.call(twice, to(), 3);
        quiet.call(twice, to(), 4).then([&](const Result<int>&) { third = true; });
        EXPECT_TRUE(within_10s([&] { return quiet.poll(), third; }));
    };
    EXPECT_TRUE(sync_wait(polls()).ok());
}

TEST_F(StopRaces, PollInACallbackOfANodeThatClosesDoesNothing) {
    for (const unsigned contexts : {1u, 2u}) {
        std::optional<Node> closing = Node::open("tcp://", {.contexts = contexts, .progress_thread = false}).value();
        const NodeRef ref = *closing;
        Errc ended = Errc::ok;
        for (unsigned i = 0; i < 2 * contexts; ++i) {
            ref.call(stays, to()).then([&ended, ref](const Result<void>& result) {
                ref.poll();
                ended = result.code();
            });
        }
        EXPECT_TRUE(within_10s([&] { return ref.poll(), stays_.is_open(); }));
        closing.reset();
        EXPECT_NE(ended, Errc::ok);
    }
}

TEST_F(StopRaces, AStopIsSeenAtOnceByNewCallsAndInTheNextTurnByThoseListed) {
    Scope* stopped = nullptr;
    Errc listed = Errc::busy;
    const auto stay = [&]() -> Task<void> { listed = (co_await client_.call(stays, to())).code(); };
    const auto stopper = [&]() -> Task<void> {
        while (!stays_.is_open()) (void)co_await client_.call(twice, to(), 1);
        std::thread([&] { stopped->request_stop(); }).join();
        EXPECT_EQ((co_await client_.call(twice, to(), 1)).code(), Errc::canceled);
        EXPECT_EQ(listed, Errc::busy) << "the turn has not ended";
    };
    const auto parent = [&]() -> Task<void> {
        Scope scope(client_);
        stopped = &scope;
        (void)scope.spawn(stay());
        (void)scope.spawn(stopper());
        co_await scope.join();
    };
    ASSERT_TRUE(sync_wait(parent()).ok());
    EXPECT_EQ(listed, Errc::canceled);
}

// A scope that was handed over ends, or is used again, before the loop has come to it.
TEST_F(StopRaces, AScopeThatEndsWhileHandedOverIsForgotten) {
    for (const bool resets : {false, true}) {
        const auto in_one_turn = [&]() -> Task<void> {
            std::optional<hl::StopScope> scope(std::in_place);
            Errc ended = Errc::busy;
            co_await twice_under(*scope, client_, to(), ended);
            EXPECT_EQ(ended, Errc::ok);
            std::thread([&] { scope->stop(); }).join();
            if (resets)
                scope->reset();
            else
                scope.emplace();
            EXPECT_FALSE(scope->stopped());
            co_await twice_under(*scope, client_, to(), ended);
            EXPECT_EQ(ended, Errc::ok) << "resets: " << resets;
        };
        run_on_loop(in_one_turn());
    }
}

TEST_F(StopRaces, StopsCallsOfALoopThatAnotherThreadDrivesLater) {
    Node quiet = Node::open("tcp://", {.progress_thread = false}).value();
    std::atomic<Errc> ended{Errc::busy};
    hl::StopScope scope;
    ASSERT_EQ(quiet.spawn(stay_under(scope, quiet, to(), ended)), Errc::ok);
    ASSERT_TRUE(within_10s([&] { return quiet.run_for(1ms), stays_.is_open(); }));
    scope.stop();
    EXPECT_EQ(ended, Errc::busy) << "nobody drives";
    std::thread([&] { EXPECT_TRUE(within_10s([&] { return quiet.run_for(1ms), ended != Errc::busy; })); }).join();
    EXPECT_EQ(ended, Errc::canceled);
}

TEST_F(StopRaces, AStopWakesTheThreadThatWaits) {
    Node quiet = Node::open("tcp://", {.progress_thread = false}).value();
    std::atomic<Errc> ended{Errc::busy};
    hl::StopScope scope;
    std::thread stopper([&] {
        (void)stays_.wait();
        scope.stop();
    });
    EXPECT_TRUE(sync_wait(stay_under(scope, quiet, to(), ended)).ok());
    stopper.join();
    EXPECT_EQ(ended, Errc::canceled);
}

TEST_F(StopRaces, MayCoincideWithTheEndOfTheNode) {
    for (int round = 0; round < 20; ++round) {
        std::optional<Node> node = Node::open("tcp://").value();
        std::atomic<Errc> ended{Errc::busy};
        hl::StopScope scope;
        ASSERT_EQ(node->spawn(stay_under(scope, *node, to(), ended)), Errc::ok);
        std::thread stopper([&] {
            for (int i = 0; i < round * 5; ++i) std::this_thread::yield();
            scope.stop();
        });
        node.reset();
        stopper.join();
        EXPECT_NE(ended, Errc::busy);
        scope.stop();
    }
}

#ifndef NDEBUG
// The stop has handed the scope over and still holds its lock when the last task ends and the scope with it.
TEST_F(StopRaces, AScopeEndsOnlyOnceItsStopHasReturned) {
    hold_stops();
    Errc ended = Errc::busy;
    const auto stay = [&]() -> Task<void> { ended = (co_await client_.call(stays, to())).code(); };
    std::optional<Scope> scope;
    std::thread stopper;
    const auto parent = [&]() -> Task<void> {
        scope.emplace(client_);
        (void)scope->spawn(stay());
        stopper = std::thread([&] {
            (void)stays_.wait();
            scope->request_stop();
        });
        co_await scope->join();
        scope.reset();
        let_go_.open();
    };
    EXPECT_TRUE(sync_wait(parent()).ok());
    stopper.join();
    EXPECT_EQ(ended, Errc::canceled);
    EXPECT_FALSE(was_let_go_);
}

TEST_F(StopRaces, AScopeIsResetOnlyOnceItsStopHasReturned) {
    hold_stops();
    std::atomic<Errc> ended{Errc::busy};
    hl::StopScope scope;
    std::thread stopper([&] {
        (void)stays_.wait();
        scope.stop();
    });
    run_on_loop(stay_under(scope, client_, to(), ended));
    scope.reset();
    let_go_.open();
    stopper.join();
    EXPECT_EQ(ended, Errc::canceled);
    EXPECT_FALSE(was_let_go_);
    EXPECT_FALSE(scope.stopped());
}
#endif

}  // namespace
}  // namespace cinnabar
