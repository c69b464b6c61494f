// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"

#include <cinnabar/rpc/proc.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace cinnabar::rpc {
namespace {

class CallTest : public RpcTest {
  protected:
    CallTest() { leave_soon(); }
};

TEST_P(CallTest, AnswersWithWhatTheHandlerWrote) {
    serve_echo();
    Ending ending;
    send("echo", "hello", ending);
    EXPECT_EQ(ending.count, 0) << "never from inside forward";
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
    EXPECT_EQ(ending.output, "hello");
}

TEST_P(CallTest, ManyInFlightAllEndOnceWithTheirOwnReply) {
    serve_echo();
    constexpr int count = 3000;
    std::vector<Ending> endings(count);
    for (int i = 0; i < count; ++i) send("echo", "call " + std::to_string(i), endings[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    for (int i = 0; i < count; ++i) {
        const Ending& ending = endings[static_cast<std::size_t>(i)];
        ASSERT_EQ(ending.count, 1);
        ASSERT_EQ(ending.result, Errc::ok);
        ASSERT_EQ(ending.output, "call " + std::to_string(i));
    }
    EXPECT_GT(target_.context->counts().credits_granted, 2u) << "a peer that wants credits is given more";
}

// Calls one after the other, each in the slot of a previous call that is completely over.
TEST_P(CallTest, ACallTakesTheSlotOfAnother) {
    serve_echo();
    serve("hold", [](Request& request) { request.release(); });  // answers `canceled`
    Call* call = make("echo");
    std::vector<CallId> ids;
    int ended = 0;
    const auto forward = [&] {
        ids.push_back(call->id());
        ASSERT_EQ(call->forward(
                      4, [](Call&, void* count) noexcept { ++*static_cast<int*>(count); }, &ended),
                  Errc::ok);
        const int wanted = ended + 1;
        ASSERT_TRUE(until([&] { return ended == wanted; }));
    };
    const auto next = [&](const na::Addr& to, const char* name) {
        Errc why = Errc::ok;
        call = origin_.context->make_call_in_place_of(*call, to, why);
        ASSERT_NE(call, nullptr) << to_string(why);
        EXPECT_EQ(call->result(), Errc::ok);
        EXPECT_TRUE(call->output().empty());
        EXPECT_EQ(call->args.deadline, time_never);
        call->args.rpc = rpc_id(name);
    };
    for (const char* name : {"echo", "hold", "echo", "nobody", "echo"}) {
        forward();
        next(to_, name);
        origin_.context->cancel(ids.back());  // the id of the previous call
    }
    forward();
    EXPECT_EQ(call->result(), Errc::ok);
    EXPECT_EQ(call->output().size(), 4u);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end()) << "each is another call";
    // If the transport still holds the message, the slot becomes free only when the send has completed.
    EXPECT_TRUE(until([&] { return origin_.context->counts().calls == 1; }));
    next(na::Addr::make(to_.body().endpoints, 9, 0), "echo");  // another peer
    EXPECT_EQ(call->peer().body().context, 9u);
    EXPECT_TRUE(until([&] { return origin_.context->counts().calls == 1; }));
    origin_.engine->drain();
    Errc why = Errc::ok;
    EXPECT_EQ(origin_.context->make_call_in_place_of(*call, to_, why), nullptr);
    EXPECT_EQ(why, Errc::closed);
    EXPECT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
}

// An origin that keeps its replies does not block later replies.
TEST_P(CallTest, AnswersThatNobodyReleasesHoldUpNoOthers) {
    serve_echo();
    constexpr std::size_t count = 3000;  // more than there are receive slots
    std::vector<Call*> ended;
    for (std::size_t i = 0; i < count; ++i) {
        Call* const call = make("echo");
        const std::string text = "call " + std::to_string(i);
        const ConstBytes bytes = as_bytes(text);
        std::copy(bytes.begin(), bytes.end(), call->input_room().begin());
        const CallDone keep = [](Call& answered, void* user) noexcept {
            static_cast<std::vector<Call*>*>(user)->push_back(&answered);
        };
        ASSERT_EQ(call->forward(bytes.size(), keep, &ended), Errc::ok);
    }
    ASSERT_TRUE(until([&] { return ended.size() == count; }));
    std::set<std::string> texts;
    for (Call* const call : ended) {
        EXPECT_EQ(call->result(), Errc::ok);
        texts.emplace(as_text(call->output()));
        call->release();
    }
    EXPECT_EQ(texts.size(), count) << "each has its own";
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    EXPECT_EQ(origin_.context->counts().replies_kept, 0u);
    EXPECT_EQ(origin_.context->counts().large_bytes, 0u);
}

TEST_P(CallTest, UnknownNamesAreAnswered) {
    Ending ending;
    send("nobody", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::no_such_rpc);
}

TEST_P(CallTest, OtherArgumentTypesAreABadSignature) {
    serve(
        "typed", [](Request& request) { request.release(); }, 7);
    Ending ending;
    Call* call = make("typed");
    call->args.shape = shape_of<std::string>();
    ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::bad_signature);
}

TEST_P(CallTest, ApplicationErrorsKeepCodeAndText) {
    serve("fail", [](Request& request) {
        request.respond_error(Errc::application, 42, std::string(300, 'x'));
        request.release();
    });
    Ending ending;
    send("fail", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::application);
    EXPECT_EQ(ending.app_code, 42u);
    EXPECT_EQ(ending.app_text, std::string(256, 'x'));
}

TEST_P(CallTest, OneWayEndsWhenSentAndRunsOnceEach) {
    int runs = 0;
    serve("note", [&](Request& request) {
        EXPECT_TRUE(request.one_way());
        ++runs;
        request.release();
    });
    constexpr int count = 200;
    std::vector<Ending> endings(count);
    for (Ending& ending : endings) {
        Call* call = make("note");
        call->args.one_way = true;
        ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
    }
    ASSERT_TRUE(until([&] { return runs == count; }));
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    for (const Ending& ending : endings) EXPECT_EQ(ending.result, Errc::ok);
}

TEST_P(CallTest, LargeArgumentsOfAOneWayCallArrive) {
    std::string got;
    serve("note", [&](Request& request) {
        got = as_text(request.input());
        request.release();
    });
    Call* call = make("note");
    call->args.one_way = true;
    Bytes room;
    const std::string sent(200'000, 'n');
    ASSERT_EQ(call->grow_input(sent.size(), room), Errc::ok);
    std::copy(sent.begin(), sent.end(), reinterpret_cast<char*>(room.data()));
    Ending ending;
    ASSERT_EQ(call->forward(sent.size(), &Ending::take, &ending), Errc::ok);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    ASSERT_TRUE(until([&] { return !got.empty(); }));
    EXPECT_TRUE(got == sent);
}

TEST_P(CallTest, LargeArgumentsOfAOneWayCallThatNobodyServesAreGivenBack) {
    Call* call = make("nobody");
    call->args.one_way = true;
    Bytes room;
    ASSERT_EQ(call->grow_input(100'000, room), Errc::ok);
    Ending ending;
    ASSERT_EQ(call->forward(100'000, &Ending::take, &ending), Errc::ok);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
}

TEST_P(CallTest, AnUnansweredRequestAnswersCanceled) {
    serve("forget", [](Request& request) { request.release(); });
    Ending ending;
    send("forget", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::canceled);
}

TEST_P(CallTest, ARequestCanBeKeptAndAnsweredLater) {
    Request* kept = nullptr;
    serve("later", [&](Request& request) {
        request.detach();
        kept = &request;
    });
    serve_echo();
    Ending slow;
    Ending quick;
    send("later", "kept bytes", slow);
    ASSERT_TRUE(until([&] { return kept != nullptr; }));
    send("echo", "meanwhile", quick);
    ASSERT_TRUE(until([&] { return quick.count == 1; }));
    EXPECT_EQ(slow.count, 0);
    EXPECT_EQ(as_text(kept->input()), "kept bytes");
    kept->respond(0);
    kept->release();
    ASSERT_TRUE(until([&] { return slow.count == 1; }));
    EXPECT_EQ(slow.result, Errc::ok);
}

TEST_P(CallTest, HeldRequestsDoNotStarveTheirCallerOfCredits) {
    std::vector<Request*> held;
    serve("hold", [&](Request& request) {
        request.detach();
        held.push_back(&request);
    });
    serve_echo();
    std::vector<Ending> endings(20);
    for (Ending& ending : endings) {
        send("hold", "", ending);
        Ending quick;
        send("echo", "x", quick);
        ASSERT_TRUE(until([&] { return quick.count == 1; }, std::chrono::seconds(5)));
    }
    ASSERT_TRUE(until([&] { return held.size() == endings.size(); }));
    for (Request* request : held) {
        request->respond(0);
        request->release();
    }
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
}

TEST_P(CallTest, TheTargetCanCallBackOverTheSameConnection) {
    Ending back;
    Handler handler;
    handler.name = "client.name";
    handler.run = [](Request& request, void*) noexcept {
        const auto name = as_bytes("origin");
        std::copy(name.begin(), name.end(), request.output_room().begin());
        request.respond(name.size());
        request.release();
    };
    ASSERT_TRUE(origin_.engine->serve(rpc_id("client.name"), 0, handler).ok());
    serve("who", [&](Request& request) {
        Errc why = Errc::ok;
        Call* call = request.context().make_call(request.source(), why);
        ASSERT_NE(call, nullptr);
        call->args.rpc = rpc_id("client.name");
        ASSERT_EQ(call->forward(0, &Ending::take, &back), Errc::ok);
        request.respond(0);
        request.release();
    });
    Ending ending;
    send("who", "", ending);
    ASSERT_TRUE(until([&] { return back.count == 1 && ending.count == 1; }));
    EXPECT_EQ(back.result, Errc::ok) << to_string(back.result);
    EXPECT_EQ(back.output, "origin");
}

TEST_P(CallTest, AHandlerThatHoldsItsContextIsNamedInTheLog) {
    if (network_.is_sim()) GTEST_SKIP() << "its time does not pass while a handler runs";
    close(target_);
    options_.handler_time_max = Microseconds{1'000};
    open(target_, 2, true);
    to_ = target_.context->self_addr();
    serve("slow", [this](Request& request) {
        const TimeUs until = target_.context->now_us() + 15'000;
        while (target_.context->now_us() < until) {
        }
        request.respond(0);
        request.release();
    });
    log_.allow("the handler of slow held its context");
    Ending ending;
    send("slow", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
    EXPECT_EQ(log_.allowed(), 1u);
}

TEST_P(CallTest, TwoNamesOfOneIdCollideAtRegistration) {
    serve("first", [](Request& request) { request.release(); });
    Handler other;
    other.name = "second";
    other.run = [](Request& request, void*) noexcept { request.release(); };
    auto added = target_.engine->serve(rpc_id("first"), 3, other);
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.code(), Errc::exists);
    EXPECT_EQ(target_.engine->withdraw(rpc_id("first"), 0), Errc::ok);
    EXPECT_EQ(target_.engine->withdraw(rpc_id("first"), 0), Errc::not_found);
}

CINNABAR_OVER_ALL(CallTest);

}  // namespace
}  // namespace cinnabar::rpc
