// SPDX-License-Identifier: BSD-3-Clause
// How a transfer ends early: errors, cancels, deadlines, losses, a close; and how it survives a transport that has no
// room.
#include "mover_fixture.hpp"

namespace cinnabar::bulk {
namespace {

TEST_F(MoverTest, TheFirstErrorWinsAndTheRestDrains) {
    open({.chunk_bytes = 10, .window = 4});
    port().revocable = false;
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    ASSERT_EQ(port().posted.size(), 4u);
    const auto ops = port().posted;
    port().end(*ops[1], Errc::permission);
    run();
    EXPECT_EQ(port().cancel_asked.size(), 3u) << "what is in flight is recalled";
    EXPECT_EQ(port().posted.size(), 3u) << "nothing more is posted";
    port().end(*ops[0], Errc::too_large);
    port().end(*ops[2]);
    run();
    EXPECT_EQ(outcome.completions, 0) << "one is still in flight";
    port().end(*ops[3], Errc::canceled);
    run();
    EXPECT_EQ(outcome.completions, 1);
    EXPECT_EQ(outcome.result, Errc::permission);
    EXPECT_EQ(port().posts, 4u);
}

TEST_F(MoverTest, ARefusedPostIsTheEnd) {
    open({.chunk_bytes = 10, .window = 4});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    port().answers = {Errc::ok, Errc::ok, Errc::unsupported};
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    EXPECT_EQ(outcome.completions, 0);
    EXPECT_EQ(port().cancel_asked.size(), 2u);
    run();
    EXPECT_EQ(outcome.result, Errc::unsupported);
    EXPECT_EQ(port().posts, 2u);
}

TEST_P(MoverOfBothKinds, CancelRecallsWhatIsInFlight) {
    open({.chunk_bytes = 10, .window = 4});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    Transfer* transfer = start(args_of(lent, here.region), outcome);
    mover->cancel(*transfer);
    mover->cancel(*transfer);
    EXPECT_EQ(outcome.completions, 0) << "never from inside cancel";
    run();
    EXPECT_EQ(outcome.completions, 1);
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(port().cancel_asked.size(), 4u);
    EXPECT_EQ(here.bytes(), std::vector<std::byte>(100));
}

TEST_F(MoverTest, CancelWaitsForWhatCannotBeRecalled) {
    open({.chunk_bytes = 10, .window = 4});
    port().revocable = false;
    Scattered there(100);
    Scattered here(100);
    there.fill(1);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    mover->cancel(*start(args_of(lent, here.region), outcome));
    run();
    EXPECT_EQ(outcome.completions, 0);
    port().end_all();
    run();
    EXPECT_EQ(outcome.completions, 1);
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(port().posts, 4u);
}

TEST_F(MoverTest, ACancelThatComesTooLateChangesNothing) {
    open();
    port().revocable = false;
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome late;
    mover->cancel(*start(args_of(lent, here.region), late));
    port().end_all();
    run();
    EXPECT_EQ(late.result, Errc::ok) << "all bytes were moved";

    Outcome after;
    after.release = false;
    Transfer* transfer = start(args_of(lent, here.region), after);
    port().end_all();
    run();
    EXPECT_EQ(after.completions, 1);
    mover->cancel(*transfer);
    run();
    EXPECT_EQ(after.completions, 1);
    EXPECT_EQ(transfer->result(), Errc::ok);
    EXPECT_EQ(transfer->bytes_done(), 100u);
    EXPECT_EQ(mover->transfers(), 1u);
    mover->release(*transfer);
    EXPECT_EQ(mover->transfers(), 0u);
}

TEST_F(MoverTest, KnowsThePeersWithWhichTransfersRun) {
    open();
    port().revocable = false;
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    const TransferArgs args = args_of(lent, here.region);
    const na::Addr elsewhere = transport->addr("elsewhere");
    na::Peer& peer = *context->peer(args.peer).value();
    na::Peer& another = *context->peer(elsewhere).value();
    EXPECT_FALSE(mover->moves_with(peer));
    Outcome outcome;
    mover->cancel(*start(args, outcome));
    EXPECT_TRUE(mover->moves_with(peer)) << "its chunk is still with the transport";
    EXPECT_FALSE(mover->moves_with(another));
    port().end_all();
    run();
    EXPECT_EQ(outcome.completions, 1);
    EXPECT_FALSE(mover->moves_with(peer));
}

TEST_F(MoverTest, CancelWhileNothingIsInFlight) {
    open({.inflight_bytes_max = 100});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome first;
    Outcome waiting;
    start(args_of(lent, here.region, Direction::push), first);
    Transfer* transfer = start(args_of(lent, here.region, Direction::push), waiting);
    EXPECT_EQ(port().posted.size(), 1u);
    mover->cancel(*transfer);
    EXPECT_EQ(waiting.completions, 0);
    run();
    EXPECT_EQ(waiting.result, Errc::canceled);
    EXPECT_EQ(first.completions, 0);
    port().end_all();
    run();
    EXPECT_EQ(first.result, Errc::ok);
    EXPECT_EQ(port().posts, 1u);
}

TEST_F(MoverTest, TheDeadlineHoldsInFlightAndWhileWaiting) {
    open({.inflight_bytes_max = 100});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    TransferArgs args = args_of(lent, here.region, Direction::push);
    args.deadline = clock.now + 1000;
    Outcome posted;
    Outcome waiting;
    start(args, posted);
    start(args, waiting);
    pass(Microseconds{999});
    EXPECT_EQ(posted.completions + waiting.completions, 0);
    port().revocable = false;
    pass(Microseconds{1});
    EXPECT_EQ(waiting.result, Errc::timed_out);
    EXPECT_EQ(posted.completions, 0) << "its memory is still in use";
    ASSERT_EQ(port().posted.size(), 1u);
    port().end_all(Errc::canceled);
    run();
    EXPECT_EQ(posted.result, Errc::timed_out);
}

TEST_F(MoverTest, AgainIsRetriedAfterACompletion) {
    open({.chunk_bytes = 10, .window = 4});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    port().answers = {Errc::ok, Errc::again};
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    EXPECT_EQ(port().posted.size(), 1u);
    port().end_all();
    run();
    EXPECT_EQ(port().posted.size(), 4u) << "without waiting for a timer";
    port().complete_per_poll = 1;
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverTest, AgainIsRetriedByATimerThatBacksOff) {
    open();
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    port().answers.assign(9, Errc::again);
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    EXPECT_EQ(port().refusals, 1u);
    std::vector<TimeUs> tries;
    while (port().posted.empty()) {
        const std::uint64_t before = port().refusals + port().posts;
        pass(Microseconds{50});
        if (port().refusals + port().posts > before) tries.push_back(clock.now);
        ASSERT_LT(tries.size(), 10u);
    }
    ASSERT_EQ(tries.size(), 9u);
    EXPECT_GE(tries[8] - tries[7], 5000u) << "a port that never takes anything is not asked all the time";
    EXPECT_LE(tries[8] - tries[7], 10'050u);
    port().end_all();
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverTest, AStalledTransferCanBeEnded) {
    open();
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    port().answers.assign(2, Errc::again);
    Outcome outcomes[2];
    TransferArgs args = args_of(lent, here.region, Direction::push);
    mover->cancel(*start(args, outcomes[0]));
    run();
    EXPECT_EQ(outcomes[0].result, Errc::canceled);
    args.deadline = clock.now + 50;
    start(args, outcomes[1]);
    pass(Microseconds{50});
    EXPECT_EQ(outcomes[1].result, Errc::timed_out);
}

TEST_F(MoverTest, AStalledPeerDoesNotStopTheOthers) {
    open({.chunk_bytes = 10, .window = 2});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    TransferArgs args = args_of(lent, here.region, Direction::push);
    port().answers.assign(1, Errc::again);
    Outcome outcomes[2];
    start(args, outcomes[0]);
    args.peer = transport->addr("other");
    start(args, outcomes[1]);
    EXPECT_EQ(port().posted.size(), 2u);
    EXPECT_EQ(port().posted[0]->peer->addr(), args.peer);
    port().complete_per_poll = 1;
    run();
    EXPECT_EQ(outcomes[0].result, Errc::ok);
    EXPECT_EQ(outcomes[1].result, Errc::ok);
}

TEST_F(MoverTest, ALostPeerEndsAllThatWaitOnIt) {
    for (const Errc why : {Errc::peer_lost, Errc::refused, Errc::unreachable}) {
        open({.inflight_bytes_max = 200, .peer_inflight_bytes_max = 100});
        Scattered there(100);
        Scattered here(100);
        const Lent lent(there.region, {transport});
        TransferArgs args = args_of(lent, here.region, Direction::push);
        Outcome outcomes[3];
        start(args, outcomes[0]);
        start(args, outcomes[1]);  // waits for the budget of the peer
        args.peer = transport->addr("other");
        start(args, outcomes[2]);
        ASSERT_EQ(port().posted.size(), 2u);
        port().end(*port().posted[0], why);
        run();
        EXPECT_EQ(outcomes[0].result, why);
        EXPECT_EQ(outcomes[1].result, why);
        EXPECT_EQ(outcomes[2].completions, 0);
        port().end_all();
        run();
        EXPECT_EQ(outcomes[2].result, Errc::ok);
        TearDown();
    }
}

TEST_F(MoverTest, OneBadDescriptorDoesNotEndTheOthers) {
    open();
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome outcomes[2];
    for (Outcome& outcome : outcomes) start(args_of(lent, here.region, Direction::push), outcome);
    port().end(*port().posted[0], Errc::protocol);
    run();
    EXPECT_EQ(outcomes[0].result, Errc::protocol);
    EXPECT_EQ(outcomes[1].completions, 0);
    port().end_all();
    run();
    EXPECT_EQ(outcomes[1].result, Errc::ok);
}

TEST_F(MoverTest, ALossMayBeReportedFromOutside) {
    open({.inflight_bytes_max = 100});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    TransferArgs args = args_of(lent, here.region, Direction::push);
    Outcome outcomes[2];
    start(args, outcomes[0]);
    args.peer = transport->addr("other");
    start(args, outcomes[1]);  // nothing in flight: waits for the budget of the context
    na::Peer* other = context->peer(args.peer).value();
    na::Peer* stranger = context->peer(transport->addr("stranger")).value();
    mover->peer_lost(*stranger, Errc::peer_lost);
    mover->peer_lost(*other, Errc::peer_lost);
    run();
    EXPECT_EQ(outcomes[1].result, Errc::peer_lost);
    EXPECT_EQ(outcomes[0].completions, 0);
    port().end_all();
    run();
    EXPECT_EQ(outcomes[0].result, Errc::ok);
}

TEST_P(MoverOfBothKinds, CloseEndsAllAndTakesNoMore) {
    open({.chunk_bytes = 10, .inflight_bytes_max = 50});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome outcomes[4];
    TransferArgs args = args_of(lent, here.region, Direction::push);
    start(args, outcomes[0]);
    start(args, outcomes[1]);
    args.peer = transport->addr("other");
    start(args, outcomes[2]);
    mover->close();
    EXPECT_EQ(start(args, outcomes[3]), nullptr);
    EXPECT_EQ(outcomes[3].result, Errc::closed);
    mover->close();
    run();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(outcomes[i].completions, 1);
        EXPECT_EQ(outcomes[i].result, Errc::canceled);
    }
}

TEST_P(MoverOfBothKinds, AClosingContextEndsWhatIsInFlight) {
    open({.chunk_bytes = 10, .window = 2});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    Outcome outcomes[2];
    for (Outcome& outcome : outcomes) start(args_of(lent, here.region, Direction::push), outcome);
    context->close();
    EXPECT_TRUE(port().cancel_asked.empty()) << "no call into a port that closes";
    while (context->trigger(1) != 0) {
    }
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result, Errc::canceled);
}

}  // namespace
}  // namespace cinnabar::bulk
