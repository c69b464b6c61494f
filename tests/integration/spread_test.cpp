// SPDX-License-Identifier: BSD-3-Clause
// A node with several contexts spreads incoming connections over them, and knows which context has which connection.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/rpc/context.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr unsigned loops = 4;
constexpr unsigned clients = 8;
constexpr Rpc<int(int)> visit{"visit"};
constexpr Rpc<int()> number{"number"};
constexpr Rpc<int(int)> ask_all{"ask_all"};
constexpr Rpc<int()> ask_back{"ask_back"};
constexpr Rpc<std::uint64_t(Bulk)> sum_of{"sum_of"};

class Spread : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (Node::listen(GetParam()).code() == Errc::unsupported) GTEST_SKIP() << "not on this host";
    }
    // Records which loop serves which client, and the addresses of all clients.
    [[nodiscard]] Node listen(const std::string& at = GetParam()) {
        Node server = Node::listen(at, {.contexts = loops}).value();
        const auto serves = [this](Request<int> request) {
            const std::lock_guard lock(mutex_);
            visitors_[hl::Executor::current()].insert(*request);
            sources_.push_back(request.source());
            return *request;
        };
        server.serve(visit, serves).value();
        return server;
    }
    // Makes clients that call once each, one after the other, and stay connected.
    void visit_all(const Addr& to, unsigned count = clients) {
        for (unsigned i = 0; i < count; ++i) {
            const int me = static_cast<int>(clients_.size());
            Node client = Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value();
            client.serve(number, [me] { return me; }).value();
            ASSERT_EQ(client.call(visit, to, me, 20s).wait().value(), me);
            clients_.push_back(std::move(client));
        }
    }
    [[nodiscard]] std::multiset<std::size_t> crowds() {
        std::multiset<std::size_t> sizes;
        for (const auto& [loop, theirs] : visitors()) sizes.insert(theirs.size());
        return sizes;
    }

    using Visitors = std::map<const hl::Executor*, std::set<int>>;
    [[nodiscard]] Visitors visitors() {
        const std::lock_guard lock(mutex_);
        return visitors_;
    }
    // In the order of the visits.
    [[nodiscard]] std::vector<Addr> sources() {
        const std::lock_guard lock(mutex_);
        return sources_;
    }
    void forget() {
        const std::lock_guard lock(mutex_);
        visitors_.clear();
    }

    std::mutex mutex_;
    Visitors visitors_;
    std::vector<Addr> sources_;
    std::deque<Node> clients_;
};

TEST_P(Spread, eight_clients_are_shared_out_over_four_loops) {
    const Node server = listen();
    const Addr to = Addr::parse(server.address()).value();
    ASSERT_NO_FATAL_FAILURE(visit_all(to));
    EXPECT_EQ(crowds(), (std::multiset<std::size_t>{2, 2, 2, 2}));
    // Each session stays on its loop.
    const Visitors before = visitors();
    for (unsigned i = 0; i < clients; ++i) {
        EXPECT_TRUE(clients_[i].call(visit, to, static_cast<int>(i), 20s).wait().ok());
    }
    EXPECT_EQ(visitors(), before);
}

TEST_P(Spread, who_names_a_context_gets_that_one) {
    const Node server = listen();
    for (unsigned context = 0; context < loops; ++context) {
        forget();
        const std::string text =
            Addr::parse(server.address())->with_context(static_cast<na::ContextId>(context)).to_string();
        EXPECT_NE(text.find("context=" + std::to_string(context)), std::string::npos) << text;
        ASSERT_NO_FATAL_FAILURE(visit_all(Addr::parse(text).value(), 3));
        EXPECT_EQ(crowds(), (std::multiset<std::size_t>{3})) << "context " << context;
        EXPECT_EQ(sources().back().body().held_by, context);
    }
    // Connections that name no context go to the context with the fewest sessions.
    forget();
    ASSERT_NO_FATAL_FAILURE(visit_all(server.rpc_context(2).self_addr(), 2));
    forget();
    ASSERT_NO_FATAL_FAILURE(visit_all(server.self_addr(), 6));
    EXPECT_EQ(crowds(), (std::multiset<std::size_t>{2, 2, 2}));
}

TEST_P(Spread, a_saved_source_is_called_over_the_loop_that_has_its_connection) {
    Node server = listen();
    Pool pool = server.make_pool({.threads = 1}).value();
    // One handler is on another loop than most of the connections, the other is on no loop.
    server
        .serve(ask_all,
               [this, &server](Request<int> request) -> Task<Result<int>> {
                   int sum = *request;
                   for (const Addr& source : sources()) {
                       CINNABAR_CO_TRY(const int answer, co_await server.call(number, source));
                       sum += answer;
                   }
                   co_return sum;
               })
        .value();
    const auto back = [&server](Request<> request) -> Task<Result<int>> {
        co_return co_await server.call(number, request.source());
    };
    server.serve(ask_back, back, on(pool)).value();
    ASSERT_NO_FATAL_FAILURE(visit_all(server.self_addr()));
    const std::vector<Addr> callers = sources();
    for (unsigned i = 0; i < clients; ++i) {
        const auto answer = server.call(number, callers[i], 20s).wait();
        ASSERT_TRUE(answer.ok()) << answer.error().message();
        EXPECT_EQ(*answer, static_cast<int>(i)) << "from a thread of the program";
        EXPECT_EQ(server.call(number, callers[i], {.deadline = 20s, .context = 1}).wait().value(), static_cast<int>(i))
            << "no other context reaches it";
        EXPECT_EQ(clients_[i].call(ask_back, server.self_addr(), 20s).wait().value(), static_cast<int>(i));
    }
    EXPECT_EQ(clients_[0].call(ask_all, server.self_addr(), 100, 20s).wait().value(), 100 + 28);
    const Addr gone = callers.back();
    clients_.pop_back();
    // Until the loss is noticed, a call may be lost with the connection.
    Errc why = Errc::ok;
    for (int i = 0; i < 1000 && why != Errc::unreachable; ++i) why = server.call(number, gone, 20s).wait().code();
    EXPECT_EQ(why, Errc::unreachable);
}

// Over tcp, bulk data have a separate connection, which must be served by the same loop.
TEST_P(Spread, memory_that_is_lent_is_reached_over_each_loop) {
    Node server = listen();
    server
        .serve(sum_of,
               [](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
                   CINNABAR_CO_TRY(const auto values, co_await request->fetch<std::uint64_t>());
                   co_return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
               })
        .value();
    ASSERT_NO_FATAL_FAILURE(visit_all(server.self_addr(), loops));
    EXPECT_EQ(crowds(), (std::multiset<std::size_t>{1, 1, 1, 1}));
    for (Node& client : clients_) {
        std::vector<std::uint64_t> values(64 * 1024, 3);
        const Region region = client.expose(std::span<const std::uint64_t>(values)).value();
        EXPECT_EQ(client.call(sum_of, server.self_addr(), Bulk(region), 20s).wait().value(), 3u * values.size());
    }
}

TEST_P(Spread, nodes_that_dial_each_other_at_once_both_answer) {
    Node one = listen();
    Node other = listen();
    std::vector<Future<int>> answers;
    for (int i = 0; i < 64; ++i) {
        const hl::CallOptions options{.deadline = 20s, .context = static_cast<unsigned>(i) % loops};
        answers.push_back(one.call(visit, other.self_addr(), i, options).future());
        answers.push_back(other.call(visit, one.self_addr(), i, options).future());
    }
    for (int i = 0; i < 128; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)].get().value(), i / 2);
}

TEST_P(Spread, clients_of_a_server_that_starts_again_are_shared_out_again) {
    std::optional<Node> server = listen();
    const Addr there = Addr::parse(server->address()).value();
    ASSERT_NO_FATAL_FAILURE(visit_all(there));
    server.reset();
    forget();
    server = listen(there.body().endpoints.front().substr(0, there.body().endpoints.front().find('?')));
    for (unsigned i = 0; i < clients; ++i) {
        // Messages that a client sends before it notices the loss are lost.
        Result<int> answer = Errc::peer_lost;
        for (int tries = 0; tries < 1000 && !answer.ok(); ++tries) {
            answer = clients_[i].call(visit, there, static_cast<int>(i), 20s).wait();
        }
        ASSERT_TRUE(answer.ok()) << answer.error().message();
    }
    EXPECT_EQ(crowds(), (std::multiset<std::size_t>{2, 2, 2, 2}));
}

INSTANTIATE_TEST_SUITE_P(Transports, Spread, testing::Values("tcp://127.0.0.1:0", "shm://", "ofi+tcp://127.0.0.1:0"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find_first_of(":+")); });

}  // namespace
}  // namespace cinnabar
