// SPDX-License-Identifier: BSD-3-Clause
// How calls end: drain, close, loss, refusal. Every call ends exactly once.
#include "rpc_fixture.hpp"

namespace cinnabar::rpc {
namespace {

class EndsTest : public RpcTest {
  protected:
    void serve_held() {
        serve("hold", [this](Request& request) {
            request.detach();
            held_.push_back(&request);
        });
    }
    std::vector<Request*> held_;
};

TEST_P(EndsTest, DrainRefusesNewWorkAndLetsOldWorkEnd) {
    serve_held();
    Ending old_call;
    send("hold", "", old_call);
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    target_.engine->drain();
    Ending new_call;
    send("hold", "", new_call);
    ASSERT_TRUE(until([&] { return new_call.count == 1; }));
    EXPECT_EQ(new_call.result, Errc::shutting_down);
    EXPECT_EQ(old_call.count, 0);
    held_.front()->respond(0);
    held_.front()->release();
    ASSERT_TRUE(until([&] { return old_call.count == 1; }));
    EXPECT_EQ(old_call.result, Errc::ok);
    Errc why = Errc::ok;
    EXPECT_EQ(target_.context->make_call(to_, why), nullptr);
    EXPECT_EQ(why, Errc::closed);
}

TEST_P(EndsTest, ClosingTheOriginEndsItsCallsWithCanceled) {
    serve_held();
    std::vector<Ending> endings(50);
    for (Ending& ending : endings) send("hold", "", ending);
    ASSERT_TRUE(until([&] { return !held_.empty(); }));
    origin_.context.reset();
    for (const Ending& ending : endings) {
        EXPECT_EQ(ending.count, 1);
        EXPECT_EQ(ending.result, Errc::canceled);
    }
    ASSERT_TRUE(until([&] { return held_.front()->canceled(); }));
    for (Request* request : held_) {
        request->respond(0);
        request->release();
    }
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
}

TEST_P(EndsTest, ACallbackThatTriesAgainWhileItsContextClosesIsRefused) {
    serve_held();
    struct Again {
        Context* context = nullptr;
        na::Addr to;
        int endings = 0;
        Errc why = Errc::ok;
    } again{origin_.context.get(), to_};
    Call* call = make("hold");
    const auto try_again = [](Call& ended, void* user) noexcept {
        auto& me = *static_cast<Again*>(user);
        ++me.endings;
        ended.release();
        EXPECT_EQ(me.context->make_call(me.to, me.why), nullptr) << "its completion would never come";
    };
    ASSERT_EQ(call->forward(0, try_again, &again), Errc::ok);
    ASSERT_TRUE(until([&] { return !held_.empty(); }));
    origin_.context.reset();
    EXPECT_EQ(again.endings, 1);
    EXPECT_EQ(again.why, Errc::closed);
    for (Request* request : held_) request->release();
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
}

TEST_P(EndsTest, ClosingTheTargetEndsCallsWithPeerLost) {
    serve_held();
    std::vector<Ending> endings(50);
    for (Ending& ending : endings) send("hold", "", ending);
    ASSERT_TRUE(until([&] { return !held_.empty(); }));
    close(target_);
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    for (const Ending& ending : endings) {
        EXPECT_EQ(ending.count, 1);
        // A call that was never sent may have found the target closed instead.
        EXPECT_TRUE(ending.result == Errc::peer_lost || ending.result == Errc::refused ||
                    ending.result == Errc::canceled || ending.result == Errc::unreachable)
            << to_string(ending.result);
    }
    // A handler that still holds its request may use and release it.
    for (Request* request : held_) {
        request->respond(0);
        request->release();
    }
}

TEST_P(EndsTest, NobodyThereIsToldAtOnce) {
    close(target_);
    std::vector<Ending> endings(100);
    const TimeUs begun = origin_.context->now_us();
    for (Ending& ending : endings) send("echo", "", ending);
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    EXPECT_LT(origin_.context->now_us() - begun, 1'000'000u);
    for (const Ending& ending : endings) {
        EXPECT_EQ(ending.count, 1);
        EXPECT_TRUE(ending.result == Errc::refused || ending.result == Errc::unreachable) << to_string(ending.result);
    }
}

TEST_P(EndsTest, TooManyQueuedBytesAreOverloaded) {
    close(origin_);
    options_.queued_bytes_max = 100'000;
    open(origin_, 2, false);
    serve_held();
    constexpr int count = 200;
    std::vector<Ending> endings(count);
    for (Ending& ending : endings) send("hold", std::string(1'000, 'x'), ending);
    ASSERT_TRUE(until([&] { return endings.back().count == 1; }));
    EXPECT_EQ(endings.back().result, Errc::overloaded);
    int overloaded = 0;
    for (const Ending& ending : endings) overloaded += ending.result == Errc::overloaded ? 1 : 0;
    EXPECT_GE(overloaded, count - 110);
    ASSERT_TRUE(until([&] {
        for (Request* request : held_) {
            request->respond(0);
            request->release();
        }
        held_.clear();
        return origin_.context->counts().calls == 0;
    }));
}

CINNABAR_OVER_ALL(EndsTest);

}  // namespace
}  // namespace cinnabar::rpc
