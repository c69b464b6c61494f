// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"
#include "support/at_yield.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace cinnabar::rpc {
namespace {

class CancelTest : public RpcTest {
  protected:
    void serve_held() {
        serve("hold", [this](Request& request) {
            request.detach();
            held_.push_back(&request);
            request.on_cancel([](Request&, void* user) noexcept { ++*static_cast<int*>(user); }, &told_);
        });
    }
    void let_go() {
        for (Request* request : held_) {
            if (!request->answered()) request->respond(0);
            request->release();
        }
        held_.clear();
    }
    std::vector<Request*> held_;
    int told_ = 0;
};

TEST_P(CancelTest, BeforeItIsSent) {
    serve_held();
    Ending ending;
    Call* call = send("hold", "", ending);
    call->cancel();
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::canceled);
    let_go();
}

TEST_P(CancelTest, ReachesTheHandlerAndEndsOnce) {
    serve_held();
    Ending ending;
    Call* call = send("hold", "", ending);
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    EXPECT_FALSE(held_.front()->canceled());
    call->cancel();
    call->cancel();
    ASSERT_TRUE(until([&] { return ending.count == 1 && told_ == 1; }));
    EXPECT_EQ(ending.result, Errc::canceled);
    EXPECT_TRUE(held_.front()->canceled());
    let_go();  // the late answer matches nothing
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
    EXPECT_EQ(ending.count, 1);
}

// Requests are added to the table at the first lookup after their arrival.
TEST_P(CancelTest, FindsEachOfManyInAnyOrder) {
    serve_held();
    constexpr std::size_t calls = 12;
    std::array<Ending, calls> endings;
    std::array<CallId, calls> ids{};
    std::size_t sent = 0;
    const auto send_until = [&](std::size_t all) {
        for (; sent < all; ++sent) ids[sent] = send("hold", std::to_string(sent), endings[sent])->id();
        ASSERT_TRUE(until([&] { return held_.size() == all; }));
    };
    std::vector<std::size_t> gone;
    const auto cancel = [&](std::size_t which) {
        origin_.context->cancel(ids[which]);
        gone.push_back(which);
        ASSERT_TRUE(until([&] { return static_cast<std::size_t>(told_) == gone.size(); }));
        for (const Request* request : held_) {
            const std::size_t call = std::stoul(std::string(as_text(request->input())));
            EXPECT_EQ(request->canceled(), std::count(gone.begin(), gone.end(), call) != 0) << call << ", " << which;
        }
    };
    send_until(6);
    for (const std::size_t which : {5u, 0u}) cancel(which);
    send_until(9);
    cancel(3);  // an older one
    send_until(calls);
    for (const std::size_t which : {10u, 7u, 11u}) cancel(which);
    let_go();
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    for (std::size_t i = 0; i < calls; ++i) {
        const bool canceled = std::count(gone.begin(), gone.end(), i) != 0;
        EXPECT_EQ(endings[i].result, canceled ? Errc::canceled : Errc::ok) << i;
    }
}

// The target dials the origin both times. If the address is the same again (sim, shm), the target takes both origins
// for one peer, and their calls have the same numbers.
TEST_P(CancelTest, OfAnOriginThatWasStartedAnewIsNotForTheOneBefore) {
    if (network_.one_process()) GTEST_SKIP() << "both sides share their transport";
    serve_held();
    const auto start_anew = [this] {
        close(origin_);
        // A cancel may arrive before the connection ends.
        ASSERT_TRUE(until([&] { return target_.context->counts().connections == 0; }));
        ASSERT_TRUE(held_.empty() || held_.front()->canceled());
        open(origin_, 1, true, "origin");
        serve(origin_, "hello", [this](Request& request) {
            to_ = request.source();
            request.respond(0);
            request.release();
        });
        Errc why = Errc::ok;
        Call* hello = target_.context->make_call(na::Addr::make(origin_.transport->endpoints(), 0, 0), why);
        ASSERT_NE(hello, nullptr) << to_string(why);
        hello->args.rpc = rpc_id("hello");
        Ending greeted;
        ASSERT_EQ(hello->forward(0, &Ending::take, &greeted), Errc::ok);
        ASSERT_TRUE(until([&] { return greeted.count == 1; }));
        ASSERT_EQ(greeted.result, Errc::ok) << to_string(greeted.result);
    };
    start_anew();
    Ending before;
    const CallId first = send("hold", "", before)->id();
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    start_anew();
    EXPECT_EQ(before.count, 1);
    Ending ending;
    Call* call = send("hold", "", ending);
    ASSERT_EQ(call->id(), first) << "what this test is about";
    ASSERT_TRUE(until([&] { return held_.size() == 2; }));
    EXPECT_FALSE(held_.back()->canceled());
    call->cancel();
    ASSERT_TRUE(until([&] { return ending.count == 1 && held_.back()->canceled(); }));
    let_go();
}

TEST_P(CancelTest, NobodyIsToldAfterTheLastRelease) {
    serve_held();
    Ending ending;
    Call* call = send("hold", "", ending);
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    call->cancel();
    // When the handler releases the request, the cancel has arrived and its callback is queued.
    while (!held_.front()->canceled()) {
        for (Side* side : {&origin_, &target_}) (void)side->context->progress(Microseconds(0));
        if (!held_.front()->canceled() && network_.is_sim()) network_.world().run_to(network_.world().now_us() + 1);
    }
    let_go();
    ASSERT_TRUE(until([&] { return ending.count == 1 && target_.context->counts().requests == 0; }));
    EXPECT_EQ(told_, 0);
}

TEST_P(CancelTest, AfterTheEndDoesNothing) {
    serve_echo();
    struct Late {
        Call* call = nullptr;
        Errc result = Errc::again;
    } late;
    Call* call = make("echo");
    ASSERT_EQ(call->forward(
                  0,
                  [](Call& ended, void* user) noexcept {
                      auto& seen = *static_cast<Late*>(user);
                      seen.call = &ended;
                      seen.result = ended.result();
                  },
                  &late),
              Errc::ok);
    ASSERT_TRUE(until([&] { return late.call != nullptr; }));
    late.call->cancel();
    for (int i = 0; i < 10; ++i) pump();
    EXPECT_EQ(late.call->result(), Errc::ok);
    late.call->release();
}

TEST_P(CancelTest, ByIdLeavesLaterCallsOfTheSlotAlone) {
    serve_echo();
    Ending first;
    const CallId id = send("echo", "a", first)->id();
    ASSERT_TRUE(until([&] { return first.count == 1; }));
    Ending second;
    send("echo", "b", second);
    origin_.context->cancel(id);
    ASSERT_TRUE(until([&] { return second.count == 1; }));
    EXPECT_EQ(second.result, Errc::ok);
}

#ifndef NDEBUG
// When the cancel takes effect, the slot belongs to another call. Afterwards that call can still be canceled.
TEST_P(CancelTest, ByIdMeansThatCallHoweverLateItComes) {
    serve_echo();
    serve_held();
    Ending first;
    const CallId id = send("echo", "a", first)->id();
    Ending second;
    Ending third;
    Call* later = nullptr;
    {
        const support::AtYield come_between("call: found by its id", [&] {
            ASSERT_TRUE(until([&] { return first.count == 1 && origin_.context->counts().calls == 0; }));
            later = send("echo", "b", second);
        });
        origin_.context->cancel(id);
    }
    ASSERT_NE(later, nullptr);
    constexpr CallId slot = (CallId{1} << call_slot_bits) - 1;
    ASSERT_EQ(later->id() & slot, id & slot) << "what this test is about";
    ASSERT_TRUE(until([&] { return second.count == 1; }));
    EXPECT_EQ(second.result, Errc::ok) << to_string(second.result);
    const CallId held = send("hold", "", third)->id();
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    origin_.context->cancel(id);
    origin_.context->cancel(held);
    ASSERT_TRUE(until([&] { return third.count == 1; }));
    EXPECT_EQ(third.result, Errc::canceled);
    let_go();
}
#endif

TEST_P(CancelTest, TheDeadlineEndsTheCallAndTellsTheHandler) {
    serve_held();
    Ending ending;
    send("hold", "", ending, Microseconds(20'000));
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::timed_out);
    if (!held_.empty()) {
        EXPECT_LE(held_.front()->deadline(), target_.context->now_us() + 20'000);
        ASSERT_TRUE(until([&] { return held_.front()->canceled(); }));
    }
    let_go();
}

// The calls end in the order of their deadlines, including earlier deadlines of calls that were answered.
TEST_P(CancelTest, DeadlinesInAnyOrderEndTheirOwnCalls) {
    serve_held();
    serve_echo();
    Ending quick;
    send("echo", "x", quick, Microseconds(60'000'000));
    ASSERT_TRUE(until([&] { return quick.count == 1; }));
    constexpr std::array<int, 5> ms{40, 20, 60, 30, 60};
    std::array<Ending, ms.size()> endings;
    std::array<TimeUs, ms.size()> deadlines{};
    for (std::size_t i = 0; i < ms.size(); ++i) {
        deadlines[i] = send("hold", "", endings[i], Microseconds(ms[i] * 1000))->args.deadline;
    }
    for (const int now : {20, 30, 40, 60}) {
        for (std::size_t i = 0; i < ms.size(); ++i) {
            if (ms[i] != now) continue;
            ASSERT_TRUE(until([&] { return endings[i].count == 1; }, std::chrono::seconds(2)));
            EXPECT_EQ(endings[i].result, Errc::timed_out);
            EXPECT_GE(origin_.context->now_us(), deadlines[i]);
        }
    }
    let_go();
}

// The time that passes between two rounds of the origin is not added to the time left at the target.
TEST_P(CancelTest, TheTargetIsToldWhatIsLeftNow) {
    serve_held();
    // By a number of rounds, because a simulated clock stands still while other contexts are not driven.
    for (int rounds = 0; rounds < 10; ++rounds) (void)target_.context->progress(Microseconds(10'000));
    Ending ending;
    send("hold", "", ending, Microseconds(2'000'000));
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    EXPECT_LE(held_.front()->deadline(), target_.context->now_us() + 2'000'000);
    let_go();
    EXPECT_TRUE(until([&] { return ending.count == 1; }));
}

// The connection is accepted 300 ms after the call was forwarded.
TEST_P(CancelTest, TheTargetIsToldWhatIsLeftOnceItIsReached) {
    if (network_.is_sim() || network_.one_process()) GTEST_SKIP() << "both sides share their clock";
    serve_held();
    Ending ending;
    send("hold", "", ending, Microseconds(5'000'000));
    const TimeUs until = origin_.context->now_us() + 300'000;
    while (origin_.context->now_us() < until) (void)origin_.context->progress(Microseconds(1'000));
    ASSERT_TRUE(this->until([&] { return held_.size() == 1 || ending.count == 1; }));
    ASSERT_EQ(ending.count, 0) << to_string(ending.result);
    EXPECT_LE(held_.front()->deadline(), target_.context->now_us() + 5'000'000 - 300'000);
    let_go();
    EXPECT_TRUE(this->until([&] { return ending.count == 1; }));
}

TEST_P(CancelTest, AnExpiredCallIsNotSent) {
    serve_held();
    Ending ending;
    send("hold", "", ending, Microseconds(0));
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::timed_out);
    EXPECT_TRUE(held_.empty());
}

TEST_P(CancelTest, ReleasingInFlightDetachesIt) {
    serve_held();
    Ending ending;
    Call* call = send("hold", "", ending);
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    call->release();
    ASSERT_TRUE(until([&] { return origin_.context->counts().calls == 0; }));
    EXPECT_EQ(ending.count, 0);
    EXPECT_TRUE(until([&] { return held_.front()->canceled(); }));
    let_go();
}

TEST_P(CancelTest, ACallThatWasNeverForwardedCanBeReleased) {
    make("hold")->release();
    EXPECT_EQ(origin_.context->counts().calls, 0u);
}

CINNABAR_OVER_ALL(CancelTest);

}  // namespace
}  // namespace cinnabar::rpc
