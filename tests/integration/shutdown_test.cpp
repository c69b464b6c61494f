// SPDX-License-Identifier: BSD-3-Clause
// Nodes, calls, futures and handlers may be destroyed in any order; nothing hangs, and waiting callers get an error.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> twice{"twice"};
constexpr Rpc<void()> hang{"hang"};

class Shutdown : public testing::Test {
  protected:
    Shutdown() {
        (void)server_->serve(twice, [](int value) { return 2 * value; });
        (void)server_->serve(hang, [this](Request<> request) -> Task<Result<void>> {
            ++hanging_;
            const Errc ended = co_await request.node().sleep_for(1h);
            co_return ended;
        });
    }
    void wait_for_hanging(int count) {
        while (hanging_ != count) ASSERT_EQ(client_->call(twice, to_, 1).wait().value(), 2);
    }

    std::atomic<int> hanging_{0};
    std::optional<Node> server_ = Node::listen("tcp://127.0.0.1:0").value();
    std::optional<Node> client_ = Node::open("tcp://").value();
    Addr to_ = server_->self_addr();
};

TEST_F(Shutdown, a_node_is_destroyed_with_calls_in_flight) {
    std::vector<Future<void>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(client_->call(hang, to_).future());
    wait_for_hanging(20);
    client_.reset();
    for (Future<void>& call : calls) EXPECT_EQ(call.get().code(), Errc::canceled);
    server_.reset();
}

TEST_F(Shutdown, an_unsent_call_outlives_its_node) {
    Pending<int> call = client_->call(twice, to_, 1);
    client_.reset();
    EXPECT_EQ(sync_wait(std::move(call)).code(), Errc::closed);
    Pending<int> dropped = server_->call(twice, to_, 1);
    server_.reset();
}

// Suspends a task. A separate thread posts it back once `go` is set.
struct Elsewhere {
    std::atomic<bool>& waiting;
    std::atomic<bool>& go;
    std::jthread& thread;
    hl::Job job{};

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) {
        job.resumes(handle);
        thread = std::jthread([this, executor = hl::context_of(handle)->executor] {
            waiting.store(true);
            waiting.notify_all();
            go.wait(false);
            executor->post(job);  // this object may be destroyed before post() returns
        });
    }
    void await_resume() const noexcept {}
};

// For the thread sanitizer: the job that is posted is the last thing that the node waits for.
TEST_F(Shutdown, a_closing_node_waits_for_a_thread_that_posts) {
    constexpr Rpc<int(int)> away{"away"};
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> waiting{false};
        std::atomic<bool> go{false};
        std::jthread thread;
        auto node = std::optional(Node::listen("tcp://127.0.0.1:0").value());
        ASSERT_TRUE(node->serve(away,
                                [&](int value) -> Task<int> {
                                    co_await Elsewhere{waiting, go, thread};
                                    co_return value;
                                })
                        .ok());
        Future<int> answer = client_->call(away, node->self_addr(), round).future();
        waiting.wait(false);
        go.store(true);
        go.notify_all();
        node.reset();
        (void)answer.get();  // answered, or lost with the node
    }
}

TEST_F(Shutdown, a_server_is_destroyed_while_its_handlers_run) {
    std::vector<Future<void>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(client_->call(hang, to_).future());
    wait_for_hanging(20);
    server_.reset();
    for (Future<void>& call : calls) {
        const Errc ended = call.get().code();
        EXPECT_TRUE(ended == Errc::canceled || ended == Errc::peer_lost) << to_string(ended);
    }
    const Errc after = client_->call(twice, to_, 1, 5s).wait().code();
    EXPECT_TRUE(after == Errc::refused || after == Errc::peer_lost) << to_string(after);
}

TEST_F(Shutdown, a_waiting_thread_gets_an_error_when_its_node_is_destroyed) {
    Node unthreaded = Node::open("tcp://", {.progress_thread = false}).value();
    std::optional<Node> node(std::move(unthreaded));
    Errc ended = Errc::ok;
    std::thread waiter([&, call = node->call(hang, to_)]() mutable { ended = sync_wait(std::move(call)).code(); });
    wait_for_hanging(1);
    node.reset();
    waiter.join();
    EXPECT_EQ(ended, Errc::canceled);
}

TEST_F(Shutdown, drain_finishes_running_calls_and_refuses_new_ones) {
    test::Gate entered;
    test::Gate let_go;
    static constexpr Rpc<int()> slow{"slow"};
    Pool pool = server_->make_pool({.threads = 1}).value();
    ASSERT_TRUE(server_
                    ->serve(
                        slow,
                        [&] {
                            entered.open();
                            return let_go.wait() ? 1 : 0;
                        },
                        on(pool))
                    .ok());
    Future<int> running = client_->call(slow, to_).future();
    ASSERT_TRUE(entered.wait());
    EXPECT_EQ(server_->drain(1ms), Errc::timed_out);
    EXPECT_EQ(client_->call(twice, to_, 1).wait().code(), Errc::shutting_down);
    EXPECT_EQ(server_->call(twice, to_, 1).wait().code(), Errc::closed);
    let_go.open();
    EXPECT_EQ(server_->drain(20s), Errc::ok);
    EXPECT_EQ(running.get().value(), 1);
}

TEST_F(Shutdown, spawned_tasks_end_with_their_node) {
    std::atomic<int> canceled{0};
    for (int i = 0; i < 5; ++i) {
        const auto task = [](NodeRef node, std::atomic<int>& count) -> Task<void> {
            if (co_await node.sleep_for(1h) == Errc::canceled) ++count;
        };
        ASSERT_EQ(client_->spawn(task(*client_, canceled)), Errc::ok);
    }
    client_.reset();
    EXPECT_EQ(canceled, 5);
}

TEST_F(Shutdown, nodes_move) {
    Node moved = std::move(*server_);
    server_.reset();
    EXPECT_EQ(client_->call(twice, to_, 4).wait().value(), 8);
    Node other = Node::open("tcp://").value();
    other = std::move(moved);
    EXPECT_EQ(client_->call(twice, to_, 5).wait().value(), 10);
}

TEST_F(Shutdown, run_ends_at_stop_running) {
    std::thread runner([this] { EXPECT_EQ(client_->run(), Errc::ok); });
    client_->stop_running();
    runner.join();
    EXPECT_EQ(client_->run_for(1ms), Errc::ok);
}

TEST_F(Shutdown, errors_of_open_and_lookup_name_the_cause) {
    EXPECT_EQ(Node::open("nowhere://").code(), Errc::unsupported);
    EXPECT_EQ(Node::listen("tcp://" + server_->address().substr(6)).code(), Errc::address_in_use);
    EXPECT_EQ(client_->lookup("tcp//").code(), Errc::bad_address);
    EXPECT_EQ(client_->lookup("sim://a").code(), Errc::unreachable);
    const Addr nobody = client_->lookup("tcp://127.0.0.1:1").value();
    EXPECT_EQ(client_->call(twice, nobody, 1, 5s).wait().code(), Errc::refused);
}

}  // namespace
}  // namespace cinnabar
