// SPDX-License-Identifier: BSD-3-Clause
// Races for the locks of a node, or on a loop that no other thread drives, in the order of events that once failed.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> wait_for{"wait for"};
constexpr Rpc<void()> hang{"hang"};

// An executor whose post() lets another thread take the lock of the scope.
class Joining final : public hl::Executor {
  public:
    explicit Joining(hl::ScopeCore& scope) : scope_(scope) {}
    ~Joining() {
        if (asks_.joinable()) asks_.join();
    }
    void post(hl::Job&) noexcept override {
        asks_ = std::thread([this] {
            hl::Job other;
            all_ended = scope_.join(*this, other);
            asked_.open();
        });
        lock_was_free = asked_.wait();
        posted.open();
    }
    bool lock_was_free = false;
    bool all_ended = false;
    test::Gate posted;

  private:
    hl::ScopeCore& scope_;
    test::Gate asked_{5s};
    std::thread asks_;
};

// Once it is posted, the joiner may destroy the scope, so neither the scope nor its lock may be touched afterwards.
TEST(Locks, a_scope_posts_its_joiner_without_its_lock) {
    Node node = Node::open("tcp://", {.progress_thread = true}).value();
    Pool pool = node.make_pool().value();
    Scope scope(node);
    Joining joining(scope.join().core);
    test::Gate let_go;
    const auto task = [&]() -> Task<void> {
        EXPECT_TRUE(let_go.wait());
        co_return;
    };
    ASSERT_EQ(scope.spawn(task(), pool.executor()), Errc::ok);
    hl::Job joiner;
    ASSERT_FALSE(scope.join().core.join(joining, joiner));
    let_go.open();
    ASSERT_TRUE(joining.posted.wait());
    EXPECT_TRUE(joining.lock_was_free);
    EXPECT_TRUE(joining.all_ended);
}

// A stop callback in a scope that makes the threads which stop the two scopes wait for each other.
struct Rendezvous {
    hl::StopNode node;
    std::atomic<unsigned>& there;
    explicit Rendezvous(std::atomic<unsigned>& both) : there(both) {
        node.user = this;
        node.fire = [](hl::StopNode& self) noexcept {
            auto& own = *static_cast<Rendezvous*>(self.user);
            ++own.there;
            const auto end = std::chrono::steady_clock::now() + 5s;
            while (own.there < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        };
    }
};

// Each scope has a sleep on one node and a call on the other. The thread that stopped a scope held the scope's lock and
// owned the other node's context. Ending the other scope's sleep there needed the other scope's lock: a deadlock.
TEST(Locks, two_scopes_over_two_contexts_are_stopped_at_once) {
    Node server = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server
                    .serve(hang,
                           [](Request<rpc::Empty> request) -> Task<Result<void>> {
                               co_return co_await request.node().sleep_for(1h);
                           })
                    .ok());
    Pool pool = server.make_pool({.threads = 2}).value();
    Node a = Node::open("tcp://", {.progress_thread = false}).value();
    Node b = Node::open("tcp://", {.progress_thread = false}).value();
    Scope of_a(a);
    Scope of_b(b);
    std::atomic<unsigned> there{0};
    Rendezvous in_a(there);
    Rendezvous in_b(there);
    const auto sleeps = [](NodeRef on) -> Task<void> { EXPECT_EQ(co_await on.sleep_for(1h), Errc::canceled); };
    const auto calls = [](NodeRef on, Addr to) -> Task<void> {
        EXPECT_EQ((co_await on.call(hang, to)).code(), Errc::canceled);
    };
    // A task waits once the threads of the pool are idle again. No thread drives both nodes meanwhile.
    const auto settled = [&] {
        for (int i = 0; i < 2; ++i) {
            test::Gate through;
            const auto mark = [&]() -> Task<void> {
                through.open();
                co_return;
            };
            (void)server.spawn(mark(), pool);
            EXPECT_TRUE(through.wait());
        }
    };
    const auto fill = [&](Scope& scope, NodeRef sleeper, NodeRef caller, Rendezvous& rendezvous) {
        ASSERT_EQ(scope.spawn(sleeps(sleeper), pool.executor()), Errc::ok);
        settled();
        ASSERT_TRUE(scope.join().core.stop().add(rendezvous.node));
        ASSERT_EQ(scope.spawn(calls(caller, server.self_addr()), pool.executor()), Errc::ok);
        settled();
    };
    fill(of_a, a, b, in_a);
    fill(of_b, b, a, in_b);
    std::vector<std::future<void>> stops;
    for (Scope* scope : {&of_a, &of_b}) stops.push_back(std::async(std::launch::async, [=] { scope->request_stop(); }));
    for (std::future<void>& stop : stops) {
        if (stop.wait_for(20s) == std::future_status::ready) continue;
        std::fputs("two scopes wait for each other's lock\n", stderr);
        std::abort();  // the threads of this process can no longer be joined
    }
    EXPECT_EQ(there, 2u);
    const auto join = [](Scope& scope) -> Task<void> { co_await scope.join(); };
    std::thread drives_b([&] { EXPECT_EQ(b.run_for(10ms), Errc::ok); });
    drives_b.join();
    const auto both = [&]() -> Task<void> {
        (void)co_await a.sleep_for(1us);  // from now on this thread drives both nodes
        (void)co_await b.sleep_for(1us);
        co_await join(of_a);
        co_await join(of_b);
    };
    EXPECT_TRUE(sync_wait(both()).ok());
}

// The last replies arrive on the loops that a thread with many loops polled least often.
TEST(Locks, a_waiting_thread_drives_twenty_loops) {
    constexpr unsigned contexts = 20;
    Node server = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server
                    .serve(wait_for,
                           [](Request<int> request) -> Task<Result<int>> {
                               const int step = *request;
                               (void)co_await request.node().sleep_for(Microseconds{5'000 + 2'000 * step});
                               co_return step;
                           })
                    .ok());
    Node client = Node::open("tcp://", {.contexts = contexts, .progress_thread = false}).value();
    const auto all = [&]() -> Task<int> {
        std::vector<Pending<int>> calls;
        for (unsigned i = 0; i < contexts; ++i) {
            calls.push_back(client.call(wait_for, server.self_addr(), static_cast<int>(i), {.context = i}));
        }
        int good = 0;
        for (Result<int>& outcome : co_await when_all(std::move(calls))) good += outcome.ok() ? 1 : 0;
        co_return good;
    };
    EXPECT_EQ(sync_wait(all()).value(), static_cast<int>(contexts));
}

}  // namespace
}  // namespace cinnabar
