// SPDX-License-Identifier: BSD-3-Clause
// The error of a call says where the call was, for how long, and what to check.
#include "integration/gate.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/peer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<std::size_t(std::string_view)> held{"place.held"};
constexpr Rpc<int(int)> stuck{"place.stuck"};
constexpr Rpc<int(int)> unknown{"place.unknown"};

testing::AssertionResult tells(const Error& error, const std::string& part) {
    if (error.message().find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no \"" << part << "\" in: " << error.message();
}

class ErrorPlace : public testing::Test {
  protected:
    ~ErrorPlace() override {
        gate_.open();
        second_.open();
    }
    static NodeOptions narrow() {
        NodeOptions options;
        options.rpc.credits_per_peer_max = 1;
        options.rpc.context.initial_credits = 1;
        options.rpc.handler_time_max = {};
        return options;
    }
    test::Gate gate_;
    test::Gate second_;
    Node server_ = Node::listen("tcp://127.0.0.1:0", narrow()).value();
    Pool pool_ = server_.make_pool({.threads = 4}).value();
    Connected client_ = Node::connect(server_.address()).value();
};

// The handler blocks the server's loop, which grants no credits meanwhile.
TEST_F(ErrorPlace, OneThatWaitedForACreditSaysForHowLong) {
    ASSERT_TRUE(server_.serve(held, [this](std::string_view text) { return gate_.pass(), text.size(); }).ok());
    const std::string large(4'000, 'x');
    std::vector<Future<std::size_t>> before;
    for (int i = 0; i < 12; ++i) before.push_back(client_.node.call(held, client_.peer, large).future());
    gate_.await(1);
    const auto late = client_.node.call(held, client_.peer, large, 300ms).wait();
    ASSERT_EQ(late.code(), Errc::timed_out);
    EXPECT_TRUE(tells(late.error(), "place.held at " + server_.address() + ", over tcp: waiting for a credit for "));
    EXPECT_TRUE(tells(late.error(), ", ended after "));
    EXPECT_TRUE(tells(late.error(), " unanswered calls, "));
    EXPECT_TRUE(tells(late.error(), "credits_per_peer_max"));
    const auto ending = call_ending(late.error());
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->rpc, "place.held");
    EXPECT_EQ(ending->peer, client_.peer);
    EXPECT_EQ(ending->transport, "tcp");
    EXPECT_EQ(ending->waits.phase, CallPhase::waits_for_credit);
    EXPECT_EQ(ending->longest, CallPhase::waits_for_credit);
    EXPECT_GT(ending->waits.ahead, 0u);
    EXPECT_GT(ending->waits.queued_us, 0u);
    EXPECT_EQ(ending->waits.connecting_us + ending->waits.queued_us + ending->waits.sent_us, ending->took_us);
    EXPECT_GE(ending->took_us, 250'000u);
    EXPECT_FALSE(ending->was_sent);
    gate_.open();
    for (auto& call : before) EXPECT_TRUE(call.get().ok());
}

// It waited for a credit for most of its time, and was sent near its end.
TEST_F(ErrorPlace, OneThatWasSentLateSaysWhatTookTheTime) {
    ASSERT_TRUE(server_.serve(held, [this](std::string_view text) { return gate_.pass(), text.size(); }).ok());
    ASSERT_TRUE(server_.serve(stuck, [this](int value) { return second_.pass(), value; }).ok());
    const std::string large(4'000, 'x');
    std::vector<Future<std::size_t>> before;
    for (int i = 0; i < 12; ++i) before.push_back(client_.node.call(held, client_.peer, large).future());
    gate_.await(1);
    Future<int> call = client_.node.call(stuck, client_.peer, 1, 4s).future();
    ASSERT_EQ(server_.run_for(2500ms), Errc::ok);
    gate_.open();
    const auto late = call.get();
    ASSERT_EQ(late.code(), Errc::timed_out);
    EXPECT_TRUE(tells(late.error(), "over tcp: waiting for a credit for "));
    EXPECT_TRUE(tells(late.error(), ", waiting for the answer for "));
    EXPECT_TRUE(tells(late.error(), "credits_per_peer_max"));
    for (auto& earlier : before) EXPECT_TRUE(earlier.get().ok());
}

// No credit, and no room for another call that waits for one.
TEST_F(ErrorPlace, OneThatFoundTheQueueFullSaysWhatTheOthersWaitFor) {
    NodeOptions short_queue;
    short_queue.rpc.queued_bytes_max = 16'000;
    const Connected caller = Node::connect(server_.address(), short_queue).value();
    ASSERT_TRUE(server_.serve(held, [this](std::string_view text) { return gate_.pass(), text.size(); }).ok());
    const std::string large(4'000, 'x');
    std::vector<Future<std::size_t>> before;
    for (int i = 0; i < 32; ++i) before.push_back(caller.node.call(held, caller.peer, large).future());
    const auto refused = caller.node.call(held, caller.peer, large).wait();
    ASSERT_EQ(refused.code(), Errc::overloaded);
    EXPECT_TRUE(tells(refused.error(), "over tcp: "));
    EXPECT_TRUE(tells(refused.error(), "ended after "));
    gate_.open();
}

TEST_F(ErrorPlace, OneThatCouldNotBeMadeSaysWhatToRaiseAndIsCounted) {
    ASSERT_TRUE(server_
                    .serve(
                        stuck, [this](int value) { return gate_.pass(), value; }, on(pool_))
                    .ok());
    NodeOptions few;
    few.rpc.calls_max = 1;  // rounded up to what is allocated at once
    const Connected caller = Node::connect(server_.address(), few).value();
    std::vector<Future<int>> calls;
    const auto made = [&] { return caller.node.rpc_context().counts().calls; };
    for (std::uint32_t before = made(); before < 1'000; before = made()) {
        calls.push_back(caller.node.call(stuck, caller.peer, 1).future());
        if (made() == before) break;
    }
    const auto refused = caller.node.call(stuck, caller.peer, 2).wait();
    ASSERT_EQ(refused.code(), Errc::overloaded);
    EXPECT_TRUE(tells(refused.error(), "rpc.calls_max"));
    EXPECT_FALSE(call_ending(refused.error())) << "it was not started";
    gate_.open();
    const std::size_t answered = calls.size() - 1;
    for (std::size_t i = 0; i < answered; ++i) EXPECT_TRUE(calls[i].get().ok());
    EXPECT_EQ(calls.back().get().code(), Errc::overloaded);
    const std::vector<RpcCounts> counts = caller.node.stats();
    const auto found =
        std::find_if(counts.begin(), counts.end(), [](const auto& rpc) { return rpc.name == stuck.name().text; });
    ASSERT_NE(found, counts.end());
    EXPECT_EQ(found->calls, answered + 2);
    EXPECT_EQ(found->calls_failed, 2u);
}

TEST_F(ErrorPlace, OneThatWasSentSaysThatNoAnswerCame) {
    ASSERT_TRUE(server_
                    .serve(
                        stuck, [this](int value) { return gate_.pass(), value; }, on(pool_))
                    .ok());
    const auto late = client_.node.call(stuck, client_.peer, 1, 200ms).wait();
    ASSERT_EQ(late.code(), Errc::timed_out);
    const auto ending = call_ending(late.error());
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->waits.phase, CallPhase::sent);
    EXPECT_EQ(ending->longest, CallPhase::sent);
    EXPECT_TRUE(ending->was_sent);
    EXPECT_TRUE(tells(late.error(), "waiting for the answer for "));
    EXPECT_TRUE(tells(late.error(), ", ended after "));
    EXPECT_TRUE(tells(late.error(), "no answer came"));
}

TEST_F(ErrorPlace, OneWhosePeerIsLostSaysWhereItWas) {
    Addr caller;
    const auto wait = [&](Request<int> request) {
        caller = request.source();
        gate_.pass();
        return *request;
    };
    ASSERT_TRUE(server_.serve(stuck, wait, on(pool_)).ok());
    Future<int> call = client_.node.call(stuck, client_.peer, 1).future();
    gate_.await(1);
    {
        na::Context& context = server_.rpc_context().na();
        const na::Context::Ownership ownership(context);
        na::Peer* const peer = context.peer(caller).value();
        peer->port().disconnect(*peer);
    }
    const auto ended = call.get();
    ASSERT_EQ(ended.code(), Errc::peer_lost) << ended.error().message();
    const auto ending = call_ending(ended.error());
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->waits.phase, CallPhase::sent);
    EXPECT_EQ(ending->peer, client_.peer);
    EXPECT_TRUE(tells(ended.error(), "waiting for the answer for "));
    EXPECT_TRUE(tells(ended.error(), "no answer came"));
}

TEST_F(ErrorPlace, OneThatIsCanceledSaysWhereItWas) {
    ASSERT_TRUE(server_
                    .serve(
                        stuck, [this](int value) { return gate_.pass(), value; }, on(pool_))
                    .ok());
    Future<int> call = client_.node.call(stuck, client_.peer, 1).future();
    gate_.await(1);
    call.cancel();
    const auto ended = call.get();
    ASSERT_EQ(ended.code(), Errc::canceled) << ended.error().message();
    const auto ending = call_ending(ended.error());
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->waits.phase, CallPhase::sent);
    EXPECT_TRUE(ending->was_sent);
    EXPECT_EQ(ending->waits.connecting_us + ending->waits.queued_us + ending->waits.sent_us, ending->took_us);
    EXPECT_TRUE(tells(ended.error(), "waiting for the answer for "));
    EXPECT_TRUE(tells(ended.error(), ", ended after "));
}

TEST_F(ErrorPlace, OneThatIsCanceledBeforeItWasSentSaysWhatItWaitedFor) {
    ASSERT_TRUE(server_.serve(held, [this](std::string_view text) { return gate_.pass(), text.size(); }).ok());
    const std::string large(4'000, 'x');
    std::vector<Future<std::size_t>> before;
    for (int i = 0; i < 12; ++i) before.push_back(client_.node.call(held, client_.peer, large).future());
    gate_.await(1);
    before.back().cancel();
    const auto ended = before.back().get();
    before.pop_back();
    ASSERT_EQ(ended.code(), Errc::canceled) << ended.error().message();
    const auto ending = call_ending(ended.error());
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->waits.phase, CallPhase::waits_for_credit);
    EXPECT_GT(ending->waits.ahead, 0u);
    EXPECT_FALSE(ending->was_sent);
    EXPECT_TRUE(tells(ended.error(), "waiting for a credit"));
    gate_.open();
    for (auto& call : before) EXPECT_TRUE(call.get().ok());
}

// Keeps the last line of the log about a call that ended early.
class EndingLines {
  public:
    EndingLines() {
        set_log_sink(&EndingLines::take, this);
        EXPECT_EQ(set_log_level("hl", LogLevel::info), Errc::ok);
    }
    ~EndingLines() {
        EXPECT_EQ(set_log_level("hl", LogLevel::warning), Errc::ok);
        set_log_sink(nullptr, nullptr);
    }
    EndingLines(const EndingLines&) = delete;
    EndingLines& operator=(const EndingLines&) = delete;
    std::string text() {
        const std::lock_guard lock(mutex_);
        return text_;
    }
    std::string fields() {
        const std::lock_guard lock(mutex_);
        return fields_;
    }

  private:
    static void take(const LogLine& line, void* user) {
        if (line.module != "hl" || line.text.find("ended after") == std::string_view::npos) return;
        auto& lines = *static_cast<EndingLines*>(user);
        std::array<char, 1024> room{};
        const std::lock_guard lock(lines.mutex_);
        lines.text_ = line.text;
        lines.fields_ = print_fields(line, room);
    }
    std::mutex mutex_;
    std::string text_;
    std::string fields_;
};

TEST_F(ErrorPlace, TheLogSaysItToo) {
    ASSERT_TRUE(server_
                    .serve(
                        stuck, [this](int value) { return gate_.pass(), value; }, on(pool_))
                    .ok());
    // Connects, so that the next call is sent at once.
    ASSERT_EQ(client_.node.call(unknown, client_.peer, 1).wait().code(), Errc::no_such_rpc);
    EndingLines lines;
    ASSERT_EQ(client_.node.call(stuck, client_.peer, 1, 300ms).wait().code(), Errc::timed_out);
    EXPECT_NE(lines.text().find("place.stuck at "), std::string::npos) << lines.text();
    EXPECT_NE(lines.text().find(": timed out, over tcp: "), std::string::npos) << lines.text();
    EXPECT_NE(lines.text().find("waiting for the answer for "), std::string::npos) << lines.text();
    EXPECT_NE(lines.fields().find(" rpc=place.stuck"), std::string::npos) << lines.fields();
    EXPECT_NE(lines.fields().find(" transport=tcp"), std::string::npos) << lines.fields();
    EXPECT_NE(lines.fields().find(" phase=\"waiting for the answer\""), std::string::npos) << lines.fields();
}

// The slot of a call that timed out is reused: the next call does not inherit its notes.
TEST_F(ErrorPlace, ALaterCallOfTheSameSlotHasItsOwn) {
    ASSERT_TRUE(server_
                    .serve(
                        stuck, [this](int value) { return gate_.pass(), value; }, on(pool_))
                    .ok());
    ASSERT_EQ(client_.node.call(stuck, client_.peer, 1, 100ms).wait().code(), Errc::timed_out);
    gate_.open();
    const auto refused = client_.node.call(unknown, client_.peer, 1).wait();
    ASSERT_EQ(refused.code(), Errc::no_such_rpc);
    EXPECT_EQ(refused.error().message().find("over tcp"), std::string::npos) << refused.error().message();
    EXPECT_FALSE(call_ending(refused.error()));
    EXPECT_FALSE(call_ending(Error(Errc::timed_out))) << "not that of a call";
}

}  // namespace
}  // namespace cinnabar
