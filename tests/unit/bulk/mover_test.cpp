// SPDX-License-Identifier: BSD-3-Clause
// The life of a transfer, step by step; ops are completed by hand. mover_endings_test.cpp tests early ends.
#include "mover_fixture.hpp"

#include <algorithm>

namespace cinnabar::bulk {
namespace {

INSTANTIATE_TEST_SUITE_P(ThreadUse, MoverOfBothKinds, ::testing::Values(ThreadUse::one, ThreadUse::many),
                         [](const auto& kind) { return kind.param == ThreadUse::one ? "One" : "Many"; });

TEST_P(MoverOfBothKinds, PullsAndPushes) {
    open({.chunk_bytes = 1000});
    Scattered there({3000, 1, 2500}, na::Access::read_write);
    Scattered here({700, 4000}, na::Access::read_write);
    there.fill(1);
    const std::vector<std::byte> wanted = there.bytes();
    const Lent lent(there.region, {transport});
    port().complete_per_poll = 2;
    Outcome pulled;
    TransferArgs args = args_of(lent, here.region.slice(10, 4600));
    args.remote_offset = 801;
    start(args, pulled);
    run();
    EXPECT_EQ(pulled.completions, 1);
    EXPECT_EQ(pulled.result, Errc::ok);
    EXPECT_EQ(pulled.progress.size(), 5u);
    EXPECT_EQ(pulled.progress.back(), 4600u);
    std::vector<std::byte> got = here.bytes();
    EXPECT_TRUE(std::equal(wanted.begin() + 801, wanted.begin() + 801 + 4600, got.begin() + 10));

    here.fill(2);
    got = here.bytes();
    Outcome pushed;
    args.direction = Direction::push;
    start(args, pushed, Deliver::internal);
    run();
    EXPECT_EQ(pushed.result, Errc::ok);
    const std::vector<std::byte> after = there.bytes();
    EXPECT_TRUE(std::equal(got.begin() + 10, got.begin() + 4610, after.begin() + 801));
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.begin() + 801, after.begin()));
    EXPECT_TRUE(std::equal(wanted.begin() + 5401, wanted.end(), after.begin() + 5401));
}

TEST_P(MoverOfBothKinds, NothingCompletesInsideStart) {
    open();
    Scattered there(100);
    Scattered here(100);
    there.fill(1);
    const std::vector<std::byte> bytes = there.bytes();
    const Lent empty(there.region, {transport});
    const Lent eager(there.region, {}, na::Access::read, {}, bytes);
    TransferArgs none = args_of(empty, Region());
    TransferArgs late = args_of(empty, here.region);
    late.deadline = clock.now;
    TransferArgs nowhere = args_of(empty, here.region);
    nowhere.peer = na::Addr::parse("elsewhere://x").value();
    const TransferArgs all[] = {none, args_of(eager, here.region), late, nowhere};
    const Errc results[] = {Errc::ok, Errc::ok, Errc::timed_out, Errc::unreachable};
    for (const Deliver deliver : {Deliver::queued, Deliver::internal}) {
        for (std::size_t i = 0; i < 4; ++i) {
            Outcome outcome;
            ASSERT_NE(start(all[i], outcome, deliver), nullptr);
            EXPECT_EQ(outcome.completions, 0) << i;
            while (outcome.completions == 0 && context->progress(Microseconds{0}) != 0) {
                EXPECT_EQ(outcome.completions, deliver == Deliver::internal ? 1 : 0) << "queued ones come from trigger";
                (void)context->trigger(1);
            }
            run();
            EXPECT_EQ(outcome.completions, 1) << i;
            EXPECT_EQ(outcome.result, results[i]) << i;
        }
    }
    EXPECT_EQ(here.bytes(), bytes) << "the bytes that came with the descriptor";
    EXPECT_EQ(port().posts, 0u);
}

TEST_F(MoverTest, EagerBytesAreCopiedFromAnyOffset) {
    open();
    Scattered there(100);
    Scattered here({30, 30}, na::Access::read_write);
    there.fill(1);
    const std::vector<std::byte> bytes = there.bytes();
    const Lent eager(there.region, {}, na::Access::read, {}, bytes);
    TransferArgs args = args_of(eager, here.region);
    args.remote_offset = 40;
    Outcome outcome;
    start(args, outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(outcome.progress, (std::vector<std::uint64_t>{60}));
    const std::vector<std::byte> got = here.bytes();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin() + 40));
}

TEST_F(MoverTest, InvalidArgumentsAreRefusedAtOnce) {
    open();
    Scattered there(100);
    Scattered here(100);
    Scattered read_only(100, na::Access::read);
    const Lent lent(there.region, {transport});
    const Lent for_reading(there.region, {transport}, na::Access::read);
    const Lent for_writing(there.region, {transport}, na::Access::write);
    Outcome outcome;
    TransferArgs args = args_of(lent, here.region);
    args.remote = nullptr;
    EXPECT_EQ(start(args, outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::invalid_argument);
    args = args_of(lent, here.region.slice(0, 50));
    args.bytes = 51;
    EXPECT_EQ(start(args, outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::invalid_argument);
    args = args_of(lent, here.region);
    args.remote_offset = 1;
    EXPECT_EQ(start(args, outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::invalid_argument);
    args.remote_offset = ~std::uint64_t{0};
    EXPECT_EQ(start(args, outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::invalid_argument);

    EXPECT_EQ(start(args_of(for_writing, here.region, Direction::pull), outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::permission);
    EXPECT_EQ(start(args_of(for_reading, here.region, Direction::push), outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::permission);
    EXPECT_EQ(start(args_of(lent, read_only.region, Direction::pull), outcome), nullptr);
    EXPECT_EQ(outcome.result, Errc::permission);

    port().complete_per_poll = 1;
    start(args_of(lent, read_only.region, Direction::push), outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok) << "read-only memory may be pushed from";
}

TEST_F(MoverTest, TransfersHaveALimit) {
    open({.transfers_max = 64});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    std::vector<Outcome> outcomes(65);
    for (std::size_t i = 0; i < 64; ++i) ASSERT_NE(start(args_of(lent, here.region), outcomes[i]), nullptr);
    EXPECT_EQ(start(args_of(lent, here.region), outcomes[64]), nullptr);
    EXPECT_EQ(outcomes[64].result, Errc::overloaded);
    port().complete_per_poll = 64;
    run();
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(outcomes[i].result, Errc::ok);
    ASSERT_NE(start(args_of(lent, here.region), outcomes[64]), nullptr);
    run();
}

TEST_F(MoverTest, AWindowOfChunksIsInFlight) {
    open({.chunk_bytes = 10, .window = 3});
    Scattered there(95);
    Scattered here(95);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    EXPECT_EQ(port().posted.size(), 3u);
    EXPECT_EQ(mover->bytes_inflight(), 30u);
    while (!port().posted.empty()) {
        port().end(*port().posted.back());
        run();
        EXPECT_LE(port().posted.size(), 3u);
    }
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(port().posts, 10u);
}

TEST_F(MoverTest, BytesInFlightHaveABudgetPerContextAndPerPeer) {
    open({.chunk_bytes = 10, .window = 8, .inflight_bytes_max = 60, .peer_inflight_bytes_max = 40});
    Scattered there(200);
    Scattered here(200);
    const Lent lent(there.region, {transport});
    TransferArgs to_a = args_of(lent, here.region, Direction::push);
    TransferArgs to_b = to_a;
    to_a.peer = transport->addr("a");
    to_b.peer = transport->addr("b");
    Outcome outcomes[3];
    start(to_a, outcomes[0]);
    EXPECT_EQ(port().posted.size(), 4u) << "the peer's budget";
    start(to_a, outcomes[1]);
    EXPECT_EQ(port().posted.size(), 4u) << "shared by its transfers";
    start(to_b, outcomes[2]);
    EXPECT_EQ(port().posted.size(), 6u) << "the context's budget";
    while (!port().posted.empty()) {
        port().end(*port().posted.front());
        run();
        EXPECT_LE(mover->bytes_inflight(), 60u);
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        for (const na::Op* op : port().posted) (op->peer->addr() == to_a.peer ? a : b) += op->bytes;
        EXPECT_LE(a, 40u);
        EXPECT_LE(b, 40u);
        EXPECT_EQ(a + b, mover->bytes_inflight());
    }
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverTest, AChunkLargerThanTheBudgetPassesAlone) {
    open({.chunk_bytes = 100, .window = 8, .inflight_bytes_max = 60, .peer_inflight_bytes_max = 40});
    Scattered there(200);
    Scattered here(200);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    EXPECT_EQ(port().posted.size(), 1u);
    port().complete_per_poll = 1;
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverTest, ChunksHaveLimitsPerPeerAndPerContext) {
    transport->limits_.rma_inflight_max = 3;
    open({.chunk_bytes = 10, .chunks_max = 4});
    Scattered there(200);
    Scattered here(200);
    const Lent lent(there.region, {transport});
    TransferArgs args = args_of(lent, here.region, Direction::push);
    Outcome outcomes[2];
    start(args, outcomes[0]);
    EXPECT_EQ(port().posted.size(), 3u);
    args.peer = transport->addr("other");
    start(args, outcomes[1]);
    EXPECT_EQ(port().posted.size(), 4u);
    port().complete_per_poll = 1;
    run();
    EXPECT_EQ(outcomes[0].result, Errc::ok);
    EXPECT_EQ(outcomes[1].result, Errc::ok);
}

TEST_F(MoverTest, TransfersAndPeersTakeTurns) {
    open({.chunk_bytes = 10, .window = 4, .inflight_bytes_max = 40});
    Scattered there(400);
    Scattered here(400);
    const Lent lent(there.region, {transport});
    const auto args_for = [&](const std::string& peer) {
        TransferArgs args = args_of(lent, here.region, Direction::push);
        args.peer = transport->addr(peer);
        return args;
    };
    // Three transfers to one peer, one to another: both peers get the same share.
    Outcome outcomes[4];
    for (int i = 0; i < 3; ++i) start(args_for("busy"), outcomes[i]);
    start(args_for("lone"), outcomes[3]);
    std::uint64_t lone_done_after = 0;
    for (std::uint64_t step = 1; !port().posted.empty(); ++step) {
        port().end(*port().posted.front());
        run();
        if (outcomes[3].completions == 1 && lone_done_after == 0) {
            lone_done_after = step;
            for (int i = 0; i < 3; ++i) {
                EXPECT_GE(outcomes[i].progress.back(), 100u) << "each of the three had a share";
                EXPECT_LE(outcomes[i].progress.back(), 180u);
            }
        }
    }
    EXPECT_GE(lone_done_after, 75u);
    EXPECT_LE(lone_done_after, 88u);
}

TEST_F(MoverTest, BlocksOfTheRemoteMemoryAreMovedInTheirOrder) {
    open({.chunk_bytes = 25, .window = 4});
    port().complete_per_poll = 3;
    Scattered there(1000);
    Scattered here(300);
    const Blocks blocks = Blocks::indexed(10, std::vector<std::uint32_t>{99, 3, 4, 5, 6, 50}, 0, 10).value();
    const Lent lent(there.region, {transport});
    std::vector<std::byte> first(1000), got(60);
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<std::byte>(i / 10);
    there.region.copy_in(0, first);
    TransferArgs args = args_of(lent, here.region.slice(100, 60));
    args.remote_blocks = &blocks;
    Outcome outcome;
    start(args, outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    here.region.copy_out(100, got);
    const int numbers[] = {99, 3, 4, 5, 6, 50};
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(std::to_integer<int>(got[i]), numbers[i / 10]) << i;

    for (std::byte& byte : got) byte = std::byte{0xee};
    here.region.copy_in(100, got);
    args.direction = Direction::push;
    start(args, outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    for (const int number : numbers) std::fill_n(first.begin() + 10 * number, 10, std::byte{0xee});
    std::vector<std::byte> after(1000);
    there.region.copy_out(0, after);
    EXPECT_EQ(after, first);
}

TEST_F(MoverTest, BlocksOfContentsThatTheDescriptorCarriesAreCopied) {
    open();
    Scattered here(4);
    std::vector<std::byte> contents(100), got(4);
    for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<std::byte>(i);
    const Region region = Region::expose(ConstBytes(contents)).value();
    const Lent lent(region, {transport}, na::Access::read, {}, contents);
    const Blocks blocks = Blocks::strided(5, 2, 50, 2).value();
    TransferArgs args = args_of(lent, here.region);
    args.remote_blocks = &blocks;
    Outcome outcome;
    start(args, outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    here.region.copy_out(0, got);
    EXPECT_EQ(got, (std::vector<std::byte>{std::byte{5}, std::byte{6}, std::byte{55}, std::byte{56}}));
}

TEST_F(MoverTest, BlocksOutsideOfTheMemoryAreRefused) {
    open();
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    TransferArgs args = args_of(lent, here.region.slice(0, 20));
    const auto code_of = [&](const Result<Blocks>& blocks) {
        args.remote_blocks = &*blocks;
        Outcome outcome;
        start(args, outcome);
        return outcome.result;
    };
    EXPECT_EQ(code_of(Blocks::strided(0, 10, 91, 2)), Errc::invalid_argument);
    EXPECT_EQ(code_of(Blocks::strided(0, 10, 10, 3)), Errc::invalid_argument) << "more than args.bytes";
    args.direction = Direction::push;
    EXPECT_EQ(code_of(Blocks::strided(0, 10, 9, 2)), Errc::invalid_argument) << "they overlap";
    args.direction = Direction::pull;
    args.remote_offset = 1;
    EXPECT_EQ(code_of(Blocks::strided(0, 10, 10, 2)), Errc::invalid_argument) << "blocks have no offset";
}

TEST_F(MoverTest, ABoundDescriptorLeadsToItsOwner) {
    open();
    Scattered there(100);
    Scattered here(100);
    const na::Addr owner = transport->addr("owner");
    const Lent lent(there.region, {transport}, na::Access::read, owner);
    EXPECT_EQ(lent.remote.owner(), owner);
    Outcome outcome;
    TransferArgs args = args_of(lent, here.region);
    Errc why = Errc::ok;
    EXPECT_EQ(mover->start(args, &Outcome::done, &outcome, Deliver::queued, nullptr, why), nullptr);
    EXPECT_EQ(why, Errc::permission) << "only who asks for it is led anywhere";
    args.follow_owner = true;
    start(args, outcome);
    ASSERT_EQ(port().posted.size(), 1u);
    EXPECT_EQ(port().posted[0]->peer->addr(), owner);
    port().end_all();
    run();
    EXPECT_EQ(outcome.result, Errc::ok);

    args.owner_at = transport->addr("the same, by another name");
    start(args, outcome);
    ASSERT_EQ(port().posted.size(), 1u);
    EXPECT_EQ(port().posted[0]->peer->addr(), args.owner_at);
    port().end_all();
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(MoverTest, TheRouteIsOneThatTheMemoryWasLentOn) {
    auto second = std::make_shared<FakeTransport>("second");
    open({}, {second});
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {second});
    Outcome outcome;
    TransferArgs args = args_of(lent, here.region);
    args.peer = na::Addr::parse("any://peer").value();  // both transports reach it
    start(args, outcome);
    EXPECT_TRUE(port().posted.empty());
    ASSERT_EQ(second->port->posted.size(), 1u);
    second->port->end_all();
    run();
    EXPECT_EQ(outcome.result, Errc::ok);

    // Only the first transport reaches this peer, but the memory was not lent on it.
    args.peer = transport->addr("peer");
    start(args, outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::unreachable);
}

TEST_F(MoverTest, ALeaseThatIsGoneIsPermission) {
    open();
    Scattered there(100);
    Scattered here(100);
    Lent lent(there.region, {transport});
    lent.revoke();
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    port().end_all();
    run();
    EXPECT_EQ(outcome.result, Errc::permission);
    EXPECT_EQ(here.bytes(), std::vector<std::byte>(100));
}

TEST_F(MoverTest, AFailedRegistrationIsTheResult) {
    open();
    Scattered there(100);
    Scattered here(100);
    const Lent lent(there.region, {transport});
    transport->registration_answer = Errc::too_large;
    Outcome outcome;
    start(args_of(lent, here.region), outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::too_large);
}

TEST_F(MoverTest, TheLocalRegionIsLetGoAtTheCompletion) {
    open();
    Scattered there(100);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    outcome.release = false;
    {
        Scattered here(100);
        start(args_of(lent, here.region), outcome);
        EXPECT_EQ(transport->registrations, 2);
        here.region = Region();
        EXPECT_EQ(transport->registrations, 2) << "in flight";
        port().end_all();
        run();
        EXPECT_EQ(transport->registrations, 1);
    }
    mover->release(*outcome.transfer);
}

TEST_F(MoverTest, VerySmallSegmentsAreStaged) {
    transport->limits_.op_segments_max = 4;
    open();
    Scattered there(std::vector<std::size_t>(512, 64), na::Access::read_write);
    Scattered here(std::vector<std::size_t>(512, 64), na::Access::read_write);
    there.fill(1);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    port().complete_per_poll = 1;
    start(args_of(lent, here.region), outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(port().posts, 1u) << "instead of 128";
    EXPECT_EQ(here.bytes(), there.bytes());

    here.fill(2);
    start(args_of(lent, here.region, Direction::push), outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(port().posts, 2u);
    EXPECT_EQ(here.bytes(), there.bytes());
}

TEST_F(MoverTest, StagingBuffersThatAreOutAreWaitedFor) {
    transport->limits_.op_segments_max = 4;
    open({.chunk_bytes = 1024, .window = 16});
    Scattered there(std::vector<std::size_t>(512, 64), na::Access::read_write);
    Scattered here(std::vector<std::size_t>(512, 64), na::Access::read_write);
    there.fill(1);
    const Lent lent(there.region, {transport});
    Outcome outcomes[2];
    for (Outcome& outcome : outcomes) start(args_of(lent, here.region), outcome);
    EXPECT_EQ(port().posted.size(), 16u);
    port().complete_per_poll = 1;
    run();
    for (Outcome& outcome : outcomes) EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(here.bytes(), there.bytes());
}

TEST_F(MoverTest, ACancelledStagedPullLeavesTheTargetAlone) {
    transport->limits_.op_segments_max = 4;
    open({.chunk_bytes = 1024});
    Scattered there(std::vector<std::size_t>(512, 64), na::Access::read_write);
    Scattered here(std::vector<std::size_t>(512, 64), na::Access::read_write);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    mover->cancel(*start(args_of(lent, here.region), outcome));
    run();
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(here.bytes(), std::vector<std::byte>(512 * 64));
}

}  // namespace
}  // namespace cinnabar::bulk
