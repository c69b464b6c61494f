// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"
#include "support/sanitizers.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

class RecallTest : public RpcTest {
  protected:
    RecallTest() { leave_soon(); }
    void TearDown() override {
        close(other_);
        RpcTest::TearDown();
    }
    // Far more calls than there are credits, so that the peer keeps asking for more.
    void flood(Side& from) { flood(from, pump_of({&origin_, &other_, &target_})); }
    void flood(Side& from, support::Pump pump) {
        constexpr int calls = support::thread_sanitizer ? 1000 : 4000;
        std::vector<Ending> endings(calls);
        for (Ending& ending : endings) {
            Errc why = Errc::ok;
            Call* call = from.context->make_call(to_, why);
            ASSERT_NE(call, nullptr) << to_string(why);
            call->args.rpc = rpc_id("echo");
            ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
        }
        ASSERT_TRUE(pump.until([&] { return from.context->counts().calls == 0; }));
        for (const Ending& ending : endings) ASSERT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    }
    Side other_;
};

// 1024 receive slots allow 384 credits for requests, of which a peer gets at most 256. Two peers that are busy one
// after the other can both get 256 only if the first one's credits go to the second.
TEST_P(RecallTest, IdleCreditsGoToWhoAsks) {
    open(other_, 2, false, "other");
    serve_echo();
    flood(origin_);
    const auto first = target_.context->counts().credits_granted;
    EXPECT_EQ(first, options_.credits_per_peer_max);
    for (int looks = 0; looks < 2; ++looks) {  // that are far enough apart, also where no time passes during a call
        flood(other_);
        pump_of({&origin_, &other_, &target_}).run_for(Microseconds{500});
    }
    flood(other_);
    EXPECT_LE(target_.context->counts().credits_granted,
              options_.credits_per_peer_max + 2 * options_.context.initial_credits)
        << "the idle peer keeps what it does not use";
    flood(origin_);  // the first peer still has its initial credits, and gets more again
}

// The origin's answer to the recall waits until a cancel is acknowledged. Meanwhile the origin spends the credits that
// it keeps on calls whose credits come back without a message, so the target has to grant them on its own.
TEST_P(RecallTest, WhatIsSpentBesideAnAnswerComesBack) {
    open(other_, 2, false, "other");
    serve_echo();
    Request* held = nullptr;
    serve("hold", [&](Request& request) { held = &request; });
    serve("note", [](Request& request) { request.release(); });
    flood(origin_);
    Ending canceled;
    Call* const cancels = send("hold", "", canceled);
    ASSERT_TRUE(until([&] { return held != nullptr; }));
    support::Pump both = pump_of({&other_, &target_});
    flood(other_, both);
    flood(other_, both);

    cancels->cancel();
    for (int i = 0; i < 100; ++i) (void)pump_of({&origin_}).step();
    const std::uint32_t kept = options_.context.initial_credits;
    std::vector<Ending> notes(kept);
    for (Ending& note : notes) {
        Call* const call = make("note");
        call->args.one_way = true;
        ASSERT_EQ(call->forward(0, &Ending::take, &note), Errc::ok);
    }
    Ending last;
    send("echo", "last", last);
    // A note ends when it has been sent, which may be noticed after the answer has come.
    EXPECT_TRUE(pump_of({&origin_, &other_, &target_}).until([&] {
        return last.count == 1 && std::ranges::all_of(notes, [](const Ending& note) { return note.count == 1; });
    }));
    EXPECT_EQ(last.result, Errc::ok);
    EXPECT_EQ(canceled.count, 1);
    held->respond(0);
    held->release();
}

CINNABAR_OVER_ALL(RecallTest);

class BusyRecallTest : public RecallTest {};

// With few peers, the target looks at each of them all the time. One that makes a call after the other, and the next as
// soon as the last has ended, is busy, however many calls of others are served meanwhile.
TEST_P(BusyRecallTest, WhoCallsAgainAndAgainKeepsItsCredits) {
    open(other_, 2, false, "other");
    serve_echo();
    flood(origin_);
    ASSERT_EQ(target_.context->counts().credits_granted, options_.credits_per_peer_max);
    std::vector<Ending> others(2000);
    for (Ending& ending : others) {
        Errc why = Errc::ok;
        Call* const call = other_.context->make_call(to_, why);
        ASSERT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id("echo");
        ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
    }
    Ending own;
    send("echo", "one", own);
    int made = 1;
    const bool all = pump_of({&origin_, &other_, &target_}).until([&] {
        if (own.count == made) {
            ++made;
            send("echo", "one", own);
        }
        return other_.context->counts().calls == 0;
    });
    ASSERT_TRUE(all);
    EXPECT_GT(target_.context->counts().credits_granted,
              options_.credits_per_peer_max + 2 * options_.context.initial_credits)
        << "the busy peer had to return its credits";
    EXPECT_TRUE(until([&] { return own.count == made; }));
}

// On a real clock, how soon the next call is made depends on the machine.
INSTANTIATE_TEST_SUITE_P(Over, BusyRecallTest,
                         testing::Values(support::NetworkKind::sim_friendly, support::NetworkKind::sim_strict),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

class SilentRecallTest : public RecallTest {
  protected:
    SilentRecallTest() {
        options_.recall_answer_max = Microseconds{1'000'000};
        options_.credits_per_peer_max = 380;  // nearly all: the other peer always lacks what the silent one keeps
    }
};

// The silent peer has all credits that one peer may have, and never reads its messages again.
TEST_P(SilentRecallTest, WhoDoesNotAnswerLosesItsConnection) {
    log_.allow("keeps credits that it does not use");
    open(other_, 2, false, "other");
    serve_echo();
    flood(origin_);
    ASSERT_EQ(target_.context->counts().credits_granted, options_.credits_per_peer_max);
    support::Pump both = pump_of({&other_, &target_});
    flood(other_, both);
    for (int i = 0; i < 60 && target_.context->counts().connections == 2; ++i) {
        flood(other_, both);
        both.run_for(Microseconds{50'000});
    }
    EXPECT_EQ(target_.context->counts().connections, 1u) << "the silent peer is still connected";
    flood(other_, both);
    EXPECT_EQ(target_.context->counts().credits_granted, options_.credits_per_peer_max);
    ASSERT_TRUE(
        pump_of({&origin_, &other_, &target_}).until([&] { return origin_.context->counts().connections == 0; }));
    flood(origin_);  // on a new connection
}

CINNABAR_OVER_ALL(SilentRecallTest);

}  // namespace
}  // namespace cinnabar::rpc
