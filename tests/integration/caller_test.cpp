// SPDX-License-Identifier: BSD-3-Clause
// Retries by policy, and calls that wait for a quota.
#include "integration/gate.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/admission.hpp>
#include <cinnabar/hl/caller.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/peer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::hl {
namespace {

constexpr Rpc<int(int)> get{"caller.get", idempotent};
constexpr Rpc<int(int)> put{"caller.put"};
constexpr Rpc<std::size_t(std::string)> measure{"caller.measure"};

// Like Node::call: it cannot be awaited if its argument is a temporary that g++ 12 would destroy twice.
using Measured = decltype(std::declval<Caller>().call(measure, Addr(), std::string()));
static_assert(std::is_same_v<Measured, MustBeNamedRetried<std::size_t>> == detail::await_breaks_temporaries);

testing::AssertionResult says(const Error& error, const std::string& part) {
    if (error.message().find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no \"" << part << "\" in: " << error.message();
}

CallerOptions quick(std::uint32_t attempts = 4) {
    CallerOptions options;
    options.retry.attempts = attempts;
    options.retry.pause = 1ms;
    options.retry.pause_max = 4ms;
    options.seed = 1;
    return options;
}

class CallerTest : public testing::Test {
  protected:
    // Serves `get` and `put` with a handler that fails `times` times.
    void serve_failing(int times, Errc code) {
        left_ = times;
        const auto handler = [this, code](int value) -> Result<int> {
            ++runs_;
            if (left_-- > 0) return code;
            return value + 1;
        };
        ASSERT_TRUE(server_.serve(get, handler).ok());
        ASSERT_TRUE(server_.serve(put, handler).ok());
    }
    void serve_gated() {
        ASSERT_TRUE(server_
                        .serve(
                            put, [this](int value) { return note(value), gate_.pass(), value; }, on(pool_))
                        .ok());
    }
    // Options of a Caller whose calls stay in progress until the gate is opened.
    CallerOptions gated(const QuotaOptions& quota) {
        serve_gated();
        CallerOptions options = quick();
        options.quota = quota;
        return options;
    }
    void note(int value) {
        const std::lock_guard lock(mutex_);
        order_.push_back(value);
    }
    std::vector<int> order() {
        const std::lock_guard lock(mutex_);
        return order_;
    }
    [[nodiscard]] bool comes_true(const auto& condition) {
        for (int i = 0; i < 2000 && !condition(); ++i) (void)client_.run_for(1ms);
        return condition();
    }

    std::atomic<int> left_{0};
    std::atomic<int> runs_{0};
    std::mutex mutex_;
    std::vector<int> order_;
    test::Gate gate_;
    Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    Pool pool_ = server_.make_pool({.threads = 4}).value();
    Node client_ = Node::open("tcp://").value();
    Addr to_ = server_.self_addr();
};

Task<Result<int>> awaits(Caller caller, Addr to) { co_return co_await caller.call(get, to, 1); }

TEST_F(CallerTest, AnIdempotentCallIsRetriedInAllFourEndings) {
    serve_failing(0, Errc::overloaded);
    CallerOptions options = quick();
    options.retry.peer_tokens = 0;
    const Caller caller(client_, options);
    const auto by_callback = [&] {
        std::promise<Result<int>> told;
        caller.call(get, to_, 1).then([&](Result<int> result) { told.set_value(std::move(result)); });
        return told.get_future().get();
    };
    for (int way = 0; way < 4; ++way) {
        left_ = 2;
        runs_ = 0;
        Result<int> result = way == 0   ? caller.call(get, to_, 1).wait()
                             : way == 1 ? sync_wait(awaits(caller, to_))
                             : way == 2 ? by_callback()
                                        : caller.call(get, to_, {1}).future().get();
        EXPECT_EQ(result.value(), 2) << way;
        EXPECT_EQ(runs_, 3) << way;
    }
    EXPECT_EQ(caller.counts().calls, 4u);
    EXPECT_EQ(caller.counts().attempts, 12u);
    EXPECT_EQ(caller.counts().failed, 0u);
}

TEST_F(CallerTest, ACallThatMayHaveRunIsNotRetried) {
    serve_failing(1, Errc::overloaded);
    const auto result = Caller(client_, quick()).call(put, to_, 1).wait();
    EXPECT_EQ(result.code(), Errc::overloaded);
    EXPECT_EQ(runs_, 1);
    EXPECT_TRUE(says(result.error(), "1 attempt: overloaded, sent, "));
    EXPECT_TRUE(says(result.error(), "not declared idempotent"));
}

TEST_F(CallerTest, ErrorsThatWouldRepeatAreNotRetried) {
    serve_failing(9, Errc::not_found);
    const auto result = Caller(client_, quick()).call(get, to_, 1).wait();
    EXPECT_EQ(result.code(), Errc::not_found);
    EXPECT_EQ(runs_, 1);
    EXPECT_EQ(result.error().message().find("attempt"), std::string::npos) << result.error().message();
}

TEST_F(CallerTest, AnErrorTellsOfEachAttempt) {
    serve_failing(9, Errc::overloaded);
    const auto result = Caller(client_, quick(3)).call(get, to_, 1).wait();
    EXPECT_EQ(result.code(), Errc::overloaded);
    EXPECT_EQ(runs_, 3);
    EXPECT_TRUE(says(result.error(), "caller.get at " + server_.address()));
    EXPECT_TRUE(says(result.error(), "; 3 attempts: overloaded, sent, "));
    EXPECT_TRUE(says(result.error(), "RetryPolicy::attempts allows no more"));
}

// Nothing was executed, so the RPC need not be idempotent.
TEST_F(CallerTest, AServerThatStartsLateIsReached) {
    const std::string address = server_.address();
    { const Node gone = std::move(server_); }
    CallerOptions options = quick(60);
    options.retry.peer_tokens = options.retry.node_tokens = 0;
    options.retry.pause_max = 20ms;
    auto call = Caller(client_, options).call(put, to_, 1).future();
    EXPECT_FALSE(call.wait_for(60ms));
    NodeOptions by_hand;  // it answers nothing before its handler is there
    by_hand.progress_thread = false;
    server_ = Node::listen(address, by_hand).value();
    serve_failing(0, Errc::ok);
    while (!call.ready()) ASSERT_EQ(server_.run_for(1ms), Errc::ok);
    EXPECT_EQ(call.get().value(), 2);
}

// The handler blocks the server's loop, which grants no credits meanwhile: when the connection breaks, some calls have
// been sent and others still wait.
TEST_F(CallerTest, OnlyCallsThatNeverLeftAreRetriedAtOnce) {
    NodeOptions narrow;
    narrow.rpc.credits_per_peer_max = 1;
    narrow.rpc.context.initial_credits = 1;
    narrow.rpc.handler_time_max = {};
    Node server = Node::listen("tcp://127.0.0.1:0", narrow).value();
    Addr source;
    const auto handler = [&](Request<std::string> request) {
        if (source.empty()) source = request.source();
        gate_.pass();
        return request->size();
    };
    ASSERT_TRUE(server.serve(measure, handler).ok());
    const Caller caller(client_, quick());
    std::vector<RetriedFuture<std::size_t>> calls;
    for (int i = 0; i < 12; ++i)
        calls.push_back(caller.call(measure, server.self_addr(), std::string(4'000, 'x')).future());
    gate_.await(1);
    EXPECT_FALSE(calls.back().wait_for(20ms));
    {
        na::Context& context = server.rpc_context().na();
        const na::Context::Ownership ownership(context);
        na::Peer* const peer = context.peer(source).value();
        peer->port().disconnect(*peer);
    }
    ASSERT_EQ(calls.front().get().code(), Errc::peer_lost);
    gate_.open();
    std::size_t again = 0;
    for (std::size_t i = 1; i < calls.size(); ++i) {
        const auto ended = calls[i].get();
        again += ended.ok() ? 1 : 0;
        EXPECT_TRUE(ended.ok() || says(ended.error(), "1 attempt: peer lost, waiting for the answer"));
    }
    EXPECT_GE(again, 1u);
    EXPECT_EQ(caller.counts().attempts, 12 + again);
    EXPECT_EQ(caller.counts().failed, 12 - again);
}

TEST_F(CallerTest, OneDeadlineCountsForAllAttempts) {
    serve_failing(1000, Errc::overloaded);
    CallerOptions options = quick(64);
    options.retry.peer_tokens = options.retry.node_tokens = 0;
    options.retry.pause_max = 40ms;
    Result<int> result = Errc::timed_out;
    // On a busy machine the deadline may pass during an attempt.
    for (int tries = 0; tries < 5 && result.code() == Errc::timed_out; ++tries) {
        runs_ = 0;
        const auto began = std::chrono::steady_clock::now();
        result = Caller(client_, options).call(get, to_, 1, 200ms).wait();
        EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
        EXPECT_GT(runs_, 3);
    }
    EXPECT_EQ(result.code(), Errc::overloaded);
    EXPECT_TRUE(says(result.error(), "the next one would start after the deadline"));
}

TEST_F(CallerTest, AHangingAttemptIsRetriedWithinTheDeadline) {
    std::atomic<int> runs{0};
    const auto hang_once = [&](Request<int> request) -> Task<Result<int>> {
        if (++runs == 1) co_return co_await request.node().sleep_for(1h);
        co_return *request;
    };
    ASSERT_TRUE(server_.serve(get, hang_once).ok());
    CallerOptions options = quick();
    options.retry.attempt_max = 100ms;
    EXPECT_EQ(Caller(client_, options).call(get, to_, 7, 10s).wait().value(), 7);
    EXPECT_EQ(runs, 2);
}

TEST_F(CallerTest, AnEmptyBudgetStopsRetriesUntilCallsSucceed) {
    serve_failing(1000, Errc::overloaded);
    CallerOptions options = quick();
    options.retry.peer_tokens = 4;
    options.retry.tokens_back = 0.5;
    const Caller caller(client_, options);
    EXPECT_TRUE(says(caller.call(get, to_, 1).wait().error(), "2 attempts: "));
    EXPECT_TRUE(says(caller.call(get, to_, 1).wait().error(), "the retry budget is used up"));
    EXPECT_EQ(runs_, 3);
    EXPECT_EQ(caller.counts().out_of_budget, 2u);
    left_ = 0;
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(caller.call(get, to_, 1).wait().ok());
    left_ = 1;
    EXPECT_TRUE(caller.call(get, to_, 1).wait().ok());
}

// Each call is told to come again until it is its turn. That does not count as a failed attempt, and the RPC need not
// be idempotent.
TEST_F(CallerTest, ACallThatIsToldToComeAgainIsRetried) {
    const Admission admission({.running_max = 2});
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> placed{0};
    const auto handler = [&, admission](Request<int> request) -> Task<Result<int>> {
        if (request.place() != 0) ++placed;
        Result<Admitted> admitted = admission.enter(request);
        if (!admitted) co_return std::move(admitted).error();
        most = std::max<int>(most, ++running);
        (void)co_await request.node().sleep_for(3ms);
        --running;
        co_return *request;
    };
    ASSERT_TRUE(server_.serve(put, handler).ok());
    const Caller caller(client_, quick(2));
    std::vector<RetriedFuture<int>> calls;
    for (int i = 0; i < 12; ++i) calls.push_back(caller.call(put, to_, i).future());
    for (int i = 0; i < 12; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)].get().value(), i);
    EXPECT_LE(most, 2);
    EXPECT_GT(caller.counts().attempts, 12u);
    EXPECT_GT(placed, 0) << "who comes again names its place";
    EXPECT_TRUE(comes_true([&] { return admission.running() == 0 && admission.places() == 0; }));

    (void)server_.withdraw(put);
    ASSERT_TRUE(server_.serve(put, [](int) -> Result<int> { return come_again(7ms, 3); }).ok());
    const auto plain = client_.call(put, to_, 1).wait();
    EXPECT_EQ(plain.code(), Errc::overloaded);
    EXPECT_EQ(plain.error().app_code, 7000u);
    EXPECT_TRUE(says(plain.error(), "says when to come again"));
}

TEST_F(CallerTest, ATargetThatAlwaysSaysComeAgainIsGivenUp) {
    const auto later = [this](int) -> Result<int> {
        ++runs_;
        return come_again(0us);
    };
    ASSERT_TRUE(server_.serve(put, later).ok());
    const auto result = Caller(client_, quick()).call(put, to_, 1).wait();
    EXPECT_EQ(result.code(), Errc::overloaded);
    EXPECT_EQ(runs_, 64);
    EXPECT_TRUE(says(result.error(), "64 attempts: 48 more before; "));
}

TEST_F(CallerTest, ACallIsCanceledDuringItsPause) {
    serve_failing(1000, Errc::overloaded);
    CallerOptions options = quick();
    options.retry.pause = options.retry.pause_max = 1h;
    const Caller caller(client_, options);
    auto future = caller.call(get, to_, 1, no_deadline).future();
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    auto stopped = caller.call(get, to_, 1, {.deadline = no_deadline, .stop = &token}).future();
    const auto refused = [this] {
        std::uint64_t calls = 0;
        for (const RpcCounts& counts : client_.stats()) calls += counts.calls_failed;
        return calls;
    };
    ASSERT_TRUE(comes_true([&] { return refused() == 2; })) << "both answers have come";
    future.cancel();
    EXPECT_EQ(future.get().code(), Errc::canceled);
    stop.request_stop();
    const auto ended = stopped.get();
    EXPECT_EQ(ended.code(), Errc::canceled);
    EXPECT_TRUE(says(ended.error(), "overloaded, sent, "));
}

TEST_F(CallerTest, AClosingNodeEndsItsCalls) {
    serve_failing(1000, Errc::overloaded);
    CallerOptions options = quick();
    options.retry.pause = options.retry.pause_max = 1h;
    std::optional<RetriedFuture<int>> call;
    {
        const Node node = Node::open("tcp://").value();
        const Caller caller(node, options);
        call = caller.call(get, to_, 1, no_deadline).future();
        ASSERT_TRUE(comes_true([&] { return runs_ == 1; }));
    }
    EXPECT_EQ(call->get().code(), Errc::canceled);
}

TEST_F(CallerTest, AWaitingCallDrivesANodeWithoutAThread) {
    serve_failing(2, Errc::overloaded);
    Node node = Node::open("tcp://", {.progress_thread = false}).value();
    const Caller caller(node, quick());
    EXPECT_EQ(caller.call(get, to_, 1).wait().value(), 2);
    left_ = 2;
    EXPECT_EQ(caller.call(get, to_, 1).future().get().value(), 2);
}

TEST_F(CallerTest, OneBudgetCountsTheFailuresOfAllPeers) {
    serve_failing(1000, Errc::overloaded);
    Node other = Node::listen("tcp://127.0.0.1:0").value();
    std::atomic<int> runs_of_other{0};
    std::atomic<bool> fails{true};
    const auto handler = [&](int value) -> Result<int> {
        ++runs_of_other;
        if (fails) return Errc::overloaded;
        return value;
    };
    ASSERT_TRUE(other.serve(get, handler).ok());
    CallerOptions options = quick();
    options.retry.peer_tokens = 0;
    options.retry.node_tokens = 4;
    options.retry.tokens_back = 1;
    const Caller caller(client_, options);
    EXPECT_TRUE(says(caller.call(get, to_, 1).wait().error(), "2 attempts: "));
    EXPECT_TRUE(says(caller.call(get, other.self_addr(), 1).wait().error(), "the retry budget is used up"));
    EXPECT_EQ(runs_, 2);
    EXPECT_EQ(runs_of_other, 1) << "it pays for what the first peer has failed";
    EXPECT_EQ(caller.counts().out_of_budget, 2u);
    fails = false;
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(caller.call(get, other.self_addr(), 1).wait().ok());
    left_ = 1;
    EXPECT_TRUE(caller.call(get, to_, 1).wait().ok()) << "what the second peer has done well counts for the first";
}

TEST_F(CallerTest, CallsInProgressToAPeerAreLimited) {
    const Caller caller(client_, gated({.peer_calls = 2}));
    std::vector<RetriedFuture<int>> calls;
    for (int i = 0; i < 5; ++i) calls.push_back(caller.call(put, to_, i).future());
    gate_.await(2);
    ASSERT_TRUE(comes_true([&] { return caller.counts().waiting == 3; }));
    Node other = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(other.serve(put, [](int value) { return value; }).ok());
    EXPECT_EQ(caller.call(put, other.self_addr(), 9).wait().value(), 9);
    EXPECT_EQ(order().size(), 2u);
    gate_.open();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)].get().value(), i);
    EXPECT_EQ(caller.counts().waiting, 0u);
}

TEST_F(CallerTest, CallsInProgressToAllPeersTogetherAreLimited) {
    const Caller caller(client_, gated({.node_calls = 2}));
    Node other = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(other.serve(put, [this](int value) { return ++runs_, value; }).ok());
    auto first = caller.call(put, to_, 1).future();
    auto second = caller.call(put, to_, 2).future();
    gate_.await(2);
    auto third = caller.call(put, other.self_addr(), 3).future();
    ASSERT_TRUE(comes_true([&] { return caller.counts().waiting == 1; }));
    EXPECT_EQ(runs_, 0) << "the calls to the first peer count for the second";
    gate_.open();
    EXPECT_EQ(first.get().value(), 1);
    EXPECT_EQ(second.get().value(), 2);
    EXPECT_EQ(third.get().value(), 3);
    EXPECT_EQ(runs_, 1);
}

TEST_F(CallerTest, WaitingCallsGoByPriorityThenByDeadline) {
    const Caller caller(client_, gated({.node_calls = 1}));
    std::vector<RetriedFuture<int>> calls;
    const auto call = [&](Priority priority, int value, Microseconds deadline) {
        calls.push_back(caller.with(priority).call(put, to_, value, deadline).future());
        const std::uint32_t waiting = static_cast<std::uint32_t>(calls.size()) - 1;
        ASSERT_TRUE(comes_true([&] { return caller.counts().waiting == waiting; }));
    };
    call(Priority::low, 0, 60s);
    gate_.await(1);
    call(Priority::low, 5, 10s);
    call(Priority::normal, 4, 50s);
    call(Priority::normal, 3, 40s);
    call(Priority::high, 2, 60s);
    call(Priority::high, 1, 59s);
    gate_.open();
    for (auto& each : calls) EXPECT_TRUE(each.get().ok());
    EXPECT_EQ(order(), (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_F(CallerTest, ErrorsTellAFullQueueFromADeadlineInIt) {
    const Caller caller(client_, gated({.peer_calls = 1, .waiting_max = 1}));
    auto first = caller.call(put, to_, 1).future();
    gate_.await(1);
    auto second = caller.call(put, to_, 2).future();
    ASSERT_TRUE(comes_true([&] { return caller.counts().waiting == 1; }));
    const auto third = caller.call(put, to_, 3).wait();
    EXPECT_EQ(third.code(), Errc::overloaded);
    EXPECT_TRUE(says(third.error(), "QuotaOptions::waiting_max"));
    second.cancel();
    EXPECT_EQ(second.get().code(), Errc::canceled);
    const auto late = caller.call(put, to_, 4, 100ms).wait();
    EXPECT_EQ(late.code(), Errc::timed_out);
    EXPECT_TRUE(says(late.error(), "waited for calls before it to end"));
    gate_.open();
    EXPECT_TRUE(first.get().ok());
    EXPECT_EQ(order(), (std::vector<int>{1}));
}

// A single call above the limit starts when nothing else is in progress.
TEST_F(CallerTest, BytesInProgressAreLimited) {
    const auto handler = [this](std::string text) { return note(0), gate_.pass(), text.size(); };
    ASSERT_TRUE(server_.serve(measure, handler, on(pool_)).ok());
    CallerOptions options = quick();
    options.quota.peer_bytes = 2'500;
    const Caller caller(client_, options);
    std::vector<RetriedFuture<std::size_t>> calls;
    for (const std::size_t bytes : {1'000u, 1'000u, 9'000u, 100u}) {
        calls.push_back(caller.call(measure, to_, std::string(bytes, 'x')).future());
        ASSERT_TRUE(comes_true([&] { return order().size() + caller.counts().waiting == calls.size(); }));
    }
    EXPECT_EQ(caller.counts().waiting, 2u);  // the small one would fit, but it is behind the large one
    gate_.open();
    for (auto& each : calls) EXPECT_TRUE(each.get().ok());
}

TEST_F(CallerTest, BytesInProgressToAllPeersTogetherAreLimited) {
    const auto handler = [this](std::string text) { return note(0), gate_.pass(), text.size(); };
    ASSERT_TRUE(server_.serve(measure, handler, on(pool_)).ok());
    Node other = Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(other.serve(measure, [this](std::string text) { return ++runs_, text.size(); }).ok());
    CallerOptions options = quick();
    options.quota.node_bytes = 2'500;
    const Caller caller(client_, options);
    auto first = caller.call(measure, to_, std::string(1'000, 'x')).future();
    auto second = caller.call(measure, to_, std::string(1'000, 'x')).future();
    gate_.await(2);
    auto third = caller.call(measure, other.self_addr(), std::string(1'000, 'x')).future();
    ASSERT_TRUE(comes_true([&] { return caller.counts().waiting == 1; }));
    EXPECT_EQ(runs_, 0) << "the bytes to the first peer count for the second";
    gate_.open();
    EXPECT_TRUE(first.get().ok());
    EXPECT_TRUE(second.get().ok());
    EXPECT_EQ(third.get().value(), 1'000u);
    EXPECT_EQ(runs_, 1);
}

// Some calls fail, some are canceled in any state, and all end.
TEST_F(CallerTest, ManyThreadsShareACaller) {
    const auto handler = [this](int value) -> Result<int> {
        if (++runs_ % 5 == 0) return come_again(500us);
        if (runs_ % 7 == 0) return Errc::overloaded;
        return value;
    };
    ASSERT_TRUE(server_.serve(get, handler, on(pool_)).ok());
    CallerOptions options = quick(20);
    options.retry.peer_tokens = options.retry.node_tokens = 0;
    options.retry.pause = 100us;
    options.quota.peer_calls = 3;
    const Caller caller(client_, options);
    std::atomic<int> ended{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            Random random(static_cast<std::uint64_t>(thread) + 1);
            for (int round = 0; round < 25; ++round) {
                std::vector<RetriedFuture<int>> calls;
                for (int i = 0; i < 4; ++i)
                    calls.push_back(caller.with(static_cast<Priority>(random.below(3))).call(get, to_, i).future());
                if (random.chance(2)) calls[random.below(4)].cancel();
                if (random.chance(4)) calls.pop_back();
                for (std::size_t i = 0; i < calls.size(); ++i) {
                    const auto result = calls[i].get();
                    ++ended;
                    if (result ? *result != static_cast<int>(i) : result.code() != Errc::canceled) ++wrong;
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_GE(ended, 300);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(comes_true([&] { return caller.counts().calls == 400 && caller.counts().waiting == 0; }));
}

Addr connection() { return Addr::of_connection("tcp", 0, 0, 7, false); }

// The place, which is in the text of the answer.
std::uint64_t place_of(const Result<Admitted>& told) { return std::stoull(told.error().subject); }

TEST(AdmissionTest, ARequestThatComesAgainGoesBeforeLaterOnes) {
    const Admission admission({.running_max = 1, .pause_min = 10ms});
    const Addr one = connection();
    const Addr two = connection();
    std::optional<Result<Admitted>> runs = admission.enter(one, 0, 0);
    ASSERT_TRUE(runs->ok());
    const auto told = admission.enter(two, 0, 1'000);
    ASSERT_EQ(told.code(), Errc::overloaded);
    EXPECT_GE(told.error().app_code, 10'000u);
    ASSERT_NE(place_of(told), 0u);
    const auto later = admission.enter(one, 0, 2'000);
    EXPECT_GT(place_of(later), place_of(told));
    runs.reset();
    EXPECT_EQ(admission.enter(connection(), 0, 3'000).code(), Errc::overloaded);       // a later request
    EXPECT_EQ(admission.enter(one, place_of(later), 4'000).code(), Errc::overloaded);  // its own turn comes later
    EXPECT_EQ(admission.enter(one, place_of(told), 5'000).code(), Errc::overloaded);   // a place of another peer
    EXPECT_EQ(admission.enter(two, place_of(told), 6'000).code(), Errc::ok);
    EXPECT_EQ(admission.enter(one, place_of(later), 7'000).code(), Errc::ok);
}

TEST(AdmissionTest, APlaceIsKeptForATimeAndAPeerHasItsShare) {
    const Admission admission({.running_max = 4, .pause_min = 10ms, .pause_max = 10ms, .late_max = 5ms});
    const Addr greedy = connection();
    std::vector<Result<Admitted>> running;
    for (int i = 0; i < 4; ++i) running.push_back(admission.enter(greedy, 0, 0));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(admission.enter(greedy, 0, 0).code(), Errc::overloaded);
    EXPECT_EQ(admission.places(), 2u);
    running.clear();
    // Two slots are reserved for the places; the others are free.
    std::vector<Result<Admitted>> others;
    for (int i = 0; i < 3; ++i) others.push_back(admission.enter(connection(), 0, 20'000));
    EXPECT_TRUE(others[0].ok() && others[1].ok());
    EXPECT_EQ(others[2].code(), Errc::overloaded);
    EXPECT_TRUE(admission.enter(connection(), 0, 25'001).ok());  // the places were not used in time
}

}  // namespace
}  // namespace cinnabar::hl
