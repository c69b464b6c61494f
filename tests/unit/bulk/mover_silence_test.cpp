// SPDX-License-Identifier: BSD-3-Clause
// Silent peers do not hold up the transfers of other peers, and their own transfers end.
#include "mover_fixture.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>

namespace cinnabar::bulk {
namespace {

using std::chrono::seconds;

class MoverSilence : public MoverFixture {
  protected:
    // Arguments for a transfer of 200 bytes from the peer of that name.
    TransferArgs from(const std::string& peer) {
        TransferArgs args = args_of(*lent_, here_->region);
        args.peer = transport->addr(peer);
        return args;
    }
    void open_and_lend(const MoverOptions& options) {
        open(options);
        there_.emplace(200);
        here_.emplace(200);
        lent_.emplace(there_->region, std::vector{transport});
    }
    std::vector<na::Op*> posted_to(const std::string& peer) {
        std::vector<na::Op*> ops;
        std::copy_if(port().posted.begin(), port().posted.end(), std::back_inserter(ops),
                     [&](const na::Op* op) { return op->peer->addr() == transport->addr(peer); });
        return ops;
    }
    // Completes the ops that are posted to the peer until there are none left.
    void serve(const std::string& peer) {
        for (auto ops = posted_to(peer); !ops.empty(); ops = posted_to(peer)) {
            port().end(*ops.front());
            run();
        }
    }
    // Advances step by step, as in a process that is not held up.
    void pass_steadily(std::chrono::milliseconds time) {
        constexpr std::chrono::milliseconds step{100};
        for (; time.count() > 0; time -= step) pass(step);
    }
    void TearDown() override {
        port().end_all();
        port().complete_per_poll = 1000;
        run();
        lent_.reset();
        MoverFixture::TearDown();
    }

    std::deque<Outcome> outcomes;
    std::optional<Scattered> there_;
    std::optional<Scattered> here_;
    std::optional<Lent> lent_;
};

TEST_F(MoverSilence, TwoThatHoldTheBudgetDoNotStopAThird) {
    open_and_lend({.chunk_bytes = 10, .window = 8, .inflight_bytes_max = 80, .peer_inflight_bytes_max = 40});
    outcomes.resize(3);
    start(from("silent"), outcomes[0]);
    start(from("also silent"), outcomes[1]);
    ASSERT_EQ(mover->bytes_inflight(), 80u) << "all there is";
    start(from("third"), outcomes[2]);
    EXPECT_EQ(posted_to("third").size(), 1u);
    serve("third");
    EXPECT_EQ(outcomes[2].result, Errc::ok);
    EXPECT_EQ(outcomes[0].completions + outcomes[1].completions, 0);
    EXPECT_EQ(mover->bytes_inflight(), 80u);
}

TEST_F(MoverSilence, TwoThatHoldTheChunksDoNotStopAThird) {
    transport->limits_.rma_inflight_max = 4;
    open_and_lend({.chunk_bytes = 10, .window = 8, .chunks_max = 8});
    outcomes.resize(3);
    start(from("silent"), outcomes[0]);
    start(from("also silent"), outcomes[1]);
    ASSERT_EQ(port().posted.size(), 8u);
    start(from("third"), outcomes[2]);
    serve("third");
    EXPECT_EQ(outcomes[2].result, Errc::ok);
}

// Silent peers that could post more are queued before the peers that come later.
TEST_F(MoverSilence, APeerThatWaitsForTheBudgetDoesNotBlockOthers) {
    open_and_lend({.chunk_bytes = 10, .window = 8, .inflight_bytes_max = 60});
    outcomes.resize(4);
    start(from("silent"), outcomes[0]);
    start(from("also silent"), outcomes[1]);
    ASSERT_EQ(mover->bytes_inflight(), 70u) << "six chunks of the first, one of the second";
    start(from("third"), outcomes[2]);
    start(from("fourth"), outcomes[3]);
    EXPECT_EQ(mover->bytes_inflight(), 90u) << "each peer has one chunk";
    serve("fourth");
    serve("third");
    EXPECT_EQ(outcomes[2].result, Errc::ok);
    EXPECT_EQ(outcomes[3].result, Errc::ok);
    // What the first transfer releases goes to the second as well.
    port().end(*posted_to("silent").front());
    run();
    EXPECT_LE(mover->bytes_inflight(), 70u);
    serve("silent");
    EXPECT_EQ(outcomes[0].result, Errc::ok);
    EXPECT_EQ(posted_to("also silent").size(), 6u) << "up to the budget";
}

TEST_F(MoverSilence, ASilentPeerTimesOut) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(8)});
    Outcome& outcome = outcomes.emplace_back();
    start(from("silent"), outcome);
    pass_steadily(seconds(7));
    EXPECT_EQ(outcome.completions, 0);
    EXPECT_TRUE(port().cancel_asked.empty());
    pass_steadily(seconds(3));
    EXPECT_EQ(port().cancel_asked.size(), 4u);
    EXPECT_EQ(outcome.result, Errc::timed_out);
}

// The peers may meanwhile have sent much that has not been read yet.
TEST_F(MoverSilence, AProcessThatWasHeldUpDoesNotBlameItsPeers) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(8)});
    Outcome& outcome = outcomes.emplace_back();
    start(from("slow"), outcome);
    pass(seconds(100));
    pass(seconds(100));
    EXPECT_EQ(outcome.completions, 0);
    EXPECT_TRUE(port().cancel_asked.empty());
    serve("slow");
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverSilence, ThatMemoryIsInUseIsWaitedFor) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(8)});
    port().revocable = false;
    Outcome& outcome = outcomes.emplace_back();
    start(from("silent"), outcome);
    pass_steadily(seconds(10));
    EXPECT_EQ(port().cancel_asked.size(), 4u);
    EXPECT_EQ(outcome.completions, 0) << "the transport still has the chunks";
    pass(seconds(100));
    EXPECT_EQ(outcome.completions, 0);
    port().end_all(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::timed_out);
}

TEST_F(MoverSilence, OneChunkNowAndThenIsNoSilence) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(8)});
    Outcome& outcome = outcomes.emplace_back();
    start(from("slow"), outcome);
    for (int chunks = 0; chunks < 20; ++chunks) {
        pass_steadily(seconds(6));
        ASSERT_EQ(outcome.completions, 0) << chunks;
        port().end(*port().posted.front());
        run();
    }
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverSilence, ATransferThatWaitsForItsTurnIsNotSilent) {
    open_and_lend({.chunk_bytes = 100, .window = 1, .peer_inflight_bytes_max = 100, .stall_max = seconds(8)});
    outcomes.resize(8);
    for (Outcome& outcome : outcomes) start(from("slow"), outcome);
    for (int chunks = 0; chunks < 16; ++chunks) {
        ASSERT_EQ(port().posted.size(), 1u);
        pass_steadily(seconds(6));
        port().end(*port().posted.front());
        run();
    }
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverSilence, TheDeadlineIsNotExtended) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(8)});
    TransferArgs args = from("silent");
    args.deadline = clock.now + 3'000'000;
    Outcome& outcome = outcomes.emplace_back();
    start(args, outcome);
    pass(seconds(2));
    EXPECT_EQ(outcome.completions, 0);
    pass(seconds(1));
    EXPECT_EQ(outcome.result, Errc::timed_out);
}

TEST_F(MoverSilence, ATransferMayHaveALimitOfItsOwn) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(8)});
    outcomes.resize(3);
    for (Outcome& each : outcomes) each.release = false;
    TransferArgs args = from("silent");
    args.deadline = clock.now + 60'000'000;
    start(args, outcomes[0]);
    args.stall_max = seconds(2);
    start(args, outcomes[1]);
    args.stall_max = seconds(0);
    start(args, outcomes[2]);
    // One chunk of each transfer arrives, then no more.
    for (std::size_t i = 0; i < 3; ++i) port().end(*port().posted[4 * i]);
    run();
    for (int i = 0; i < 6; ++i) pass(seconds(1));
    EXPECT_EQ(outcomes[1].result, Errc::timed_out);
    EXPECT_TRUE(outcomes[1].transfer->stalled());
    EXPECT_EQ(outcomes[1].transfer->bytes_done(), 10u);
    EXPECT_EQ(outcomes[0].completions + outcomes[2].completions, 0);
    for (int i = 0; i < 12; ++i) pass(seconds(1));
    EXPECT_EQ(outcomes[0].result, Errc::timed_out);
    EXPECT_TRUE(outcomes[0].transfer->stalled());
    EXPECT_EQ(outcomes[2].completions, 0);
    pass(seconds(60));
    EXPECT_EQ(outcomes[2].result, Errc::timed_out);
    EXPECT_FALSE(outcomes[2].transfer->stalled()) << "it was the deadline";
    for (Outcome& each : outcomes) mover->release(*each.transfer);
}

TEST_F(MoverSilence, AnArrivedChunkCountsAlthoughTheDeadlineHasPassed) {
    open_and_lend({.chunk_bytes = 50, .window = 4, .stall_max = seconds(8)});
    TransferArgs args = from("late");
    args.deadline = clock.now + 1'000'000;
    Outcome& outcome = outcomes.emplace_back();
    start(args, outcome);
    port().end_all();
    pass(seconds(100));
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverSilence, WithoutALimitItIsWaitedFor) {
    open_and_lend({.chunk_bytes = 10, .window = 4, .stall_max = seconds(0)});
    Outcome& outcome = outcomes.emplace_back();
    start(from("silent"), outcome);
    EXPECT_EQ(context->next_timer_us(), time_never);
    pass(seconds(1'000'000));
    EXPECT_EQ(outcome.completions, 0);
}

}  // namespace
}  // namespace cinnabar::bulk
