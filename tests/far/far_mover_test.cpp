// SPDX-License-Identifier: BSD-3-Clause
// Chunks of far memory over a simulated transport: their order, their staging buffers, and how they end.
#include "far_fixture.hpp"
#include "unit/bulk/mover_fixture.hpp"

#include <cinnabar/bulk/owner_moves.hpp>

namespace cinnabar::bulk {
namespace {

using test::MadeUpFar;

constexpr std::size_t chunk = 1000;

// On the test's clock, on which copies run at once.
struct FarMoverTest : MoverFixture {
    void open_with(std::size_t bytes, std::uint32_t window = 4) {
        open({.chunk_bytes = chunk, .window = window});
        far = std::make_shared<MadeUpFar>(bytes);
        region = Region::of_far(far, na::Access::read_write).value();
    }
    // Completes posted operations until there are none left.
    void finish() {
        while (!port().posted.empty()) {
            port().end_all();
            run();
        }
    }
    std::shared_ptr<MadeUpFar> far;
    Region region;
};

TEST_F(FarMoverTest, APushLoadsEachChunkAndThenPostsIt) {
    open_with(3 * chunk);
    Scattered there(3 * chunk);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    start(args_of(lent, region, Direction::push), outcome);
    run();
    ASSERT_EQ(port().posted.size(), 3u);
    for (const na::Op* op : port().posted) {
        std::vector<std::byte> loaded(op->bytes);
        op->local->copy_out(op->local_offset, loaded);
        EXPECT_TRUE(support::holds_pattern(loaded, 1, op->remote_offset));
    }
    finish();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(outcome.progress.back(), 3 * chunk);
}

TEST_F(FarMoverTest, NoTransportRegistersIt) {
    open_with(chunk);
    EXPECT_EQ(region.memory_on(transport).code(), Errc::unsupported);
    EXPECT_EQ(transport->registered, 0);
}

TEST_F(FarMoverTest, APulledChunkCountsWhenItIsStored) {
    open_with(2 * chunk);
    Scattered there(2 * chunk);
    const Lent lent(there.region, {transport});
    far->fail_after(1, Errc::io);
    Outcome outcome;
    start(args_of(lent, region), outcome);
    ASSERT_EQ(port().posted.size(), 2u);
    EXPECT_EQ(far->entered, 0);
    outcome.release = false;
    finish();
    EXPECT_EQ(outcome.result, Errc::io);
    EXPECT_EQ(outcome.transfer->bytes_done(), chunk) << "the one that is stored";
    EXPECT_EQ(outcome.transfer->os_errno(), 5);
    mover->release(*outcome.transfer);
}

TEST_F(FarMoverTest, AFailedLoadEndsThePushAndPostsNothingOfIt) {
    open_with(4 * chunk);
    Scattered there(4 * chunk);
    const Lent lent(there.region, {transport});
    far->fail_after(2, Errc::no_space);
    Outcome outcome;
    start(args_of(lent, region, Direction::push), outcome);
    run();
    EXPECT_EQ(port().posts, 2u);
    finish();
    EXPECT_EQ(outcome.result, Errc::no_space);
    EXPECT_EQ(outcome.completions, 1);
}

TEST_F(FarMoverTest, AChunkWithoutRoomStaysLoadedAndIsPostedLater) {
    open_with(2 * chunk);
    Scattered there(2 * chunk);
    const Lent lent(there.region, {transport});
    port().answers = {Errc::again, Errc::again, Errc::again};
    Outcome outcome;
    start(args_of(lent, region, Direction::push), outcome);
    run();
    EXPECT_TRUE(port().posted.empty());
    EXPECT_EQ(far->entered, 2);
    for (int i = 0; i < 3; ++i) pass(Microseconds{20'000});
    ASSERT_EQ(port().posted.size(), 2u);
    EXPECT_EQ(far->entered, 2) << "each was loaded once";
    finish();
    EXPECT_EQ(outcome.result, Errc::ok);
}

TEST_F(FarMoverTest, ACancelDropsLoadedChunksAndFreesTheirBuffers) {
    open_with(2 * chunk);
    Scattered there(2 * chunk);
    const Lent lent(there.region, {transport});
    port().answers = {Errc::again, Errc::again};
    Outcome outcome;
    Transfer* const transfer = start(args_of(lent, region, Direction::push), outcome);
    run();
    mover->cancel(*transfer);
    run();
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(mover->bytes_inflight(), 0u);
    EXPECT_EQ(port().refusals, 2u);
    pass(Microseconds{20'000});
    EXPECT_TRUE(port().posted.empty()) << "nothing of it is posted any more";
    Outcome next;
    start(args_of(lent, region, Direction::push), next);
    run();
    finish();
    EXPECT_EQ(next.result, Errc::ok);
    EXPECT_EQ(*far->pins, 2) << "the buffers are those of before, and were pinned once";
}

TEST_F(FarMoverTest, BuffersOfADroppedTransferServeOthersOfThePeer) {
    open_with(8 * chunk, 16);
    Scattered there(8 * chunk);
    const Lent lent(there.region, {transport});
    port().answers.assign(8, Errc::again);
    Outcome dropped;
    Outcome waiting;
    Transfer* const transfer = start(args_of(lent, region, Direction::push), dropped);
    start(args_of(lent, region, Direction::push), waiting);
    run();
    ASSERT_EQ(far->entered, 8) << "the share of the peer";
    mover->cancel(*transfer);
    run();
    EXPECT_EQ(dropped.result, Errc::canceled);
    EXPECT_EQ(port().posted.size(), 8u);
    finish();
    EXPECT_EQ(waiting.result, Errc::ok);
}

TEST_F(FarMoverTest, ArrivedBytesOfACanceledPullAreNotStored) {
    open_with(2 * chunk);
    port().revocable = false;
    Scattered there(2 * chunk);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    Transfer* const transfer = start(args_of(lent, region), outcome);
    ASSERT_EQ(port().posted.size(), 2u);
    mover->cancel(*transfer);
    run();
    outcome.release = false;
    finish();
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(far->entered, 0);
    EXPECT_EQ(transfer->bytes_done(), 0u);
    mover->release(*transfer);
}

TEST_F(FarMoverTest, APeerHoldsHalfOfTheBuffersAndEachHasOne) {
    open_with(40 * chunk, 16);
    Scattered there(40 * chunk);
    const Lent lent(there.region, {transport});
    std::array<Outcome, 4> outcomes;
    for (Outcome& outcome : outcomes) start(args_of(lent, region), outcome);
    EXPECT_EQ(port().posted.size(), 8u) << "of one peer, whatever it asks for";
    Outcome other;
    TransferArgs args = args_of(lent, region);
    args.peer = transport->addr("other");
    start(args, other);
    EXPECT_EQ(port().posted.size(), 16u);
    Outcome third;
    args.peer = transport->addr("third");
    start(args, third);
    EXPECT_EQ(port().posted.size(), 17u) << "one beyond the number that is kept";
    finish();
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(other.result, Errc::ok);
    EXPECT_EQ(third.result, Errc::ok);
}

TEST_F(FarMoverTest, ContentsOfTheDescriptorAreStored) {
    open_with(100);
    Scattered there(100);
    there.fill(7);
    const std::vector<std::byte> carried = there.bytes();
    const Lent lent(there.region, {transport}, na::Access::read, {}, carried);
    Outcome outcome;
    start(args_of(lent, region), outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_TRUE(support::holds_pattern(far->memory(), 7));
    far->fail_after(0, Errc::io);
    Outcome failing;
    start(args_of(lent, region), failing);
    run();
    EXPECT_EQ(failing.result, Errc::io);
}

TEST_F(FarMoverTest, BlocksOfContentsOfTheDescriptorAreStored) {
    open_with(40);
    Scattered there(100);
    there.fill(7);
    const std::vector<std::byte> carried = there.bytes();
    const Lent lent(there.region, {transport}, na::Access::read, {}, carried);
    const std::array<std::uint32_t, 2> numbers{4, 1};
    const Blocks blocks = Blocks::indexed(20, numbers).value();
    TransferArgs args = args_of(lent, region);
    args.remote_blocks = &blocks;
    args.bytes = blocks.bytes();
    Outcome outcome;
    start(args, outcome);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(far->memory()).first(20), 7, 80));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(far->memory()).subspan(20), 7, 20));
}

// On the real clock, on which threads make the copies.
struct FarMoverOnThreads : FarMoverTest {
    FarMoverOnThreads() { transport->clock_ = nullptr; }
};

TEST_F(FarMoverOnThreads, ALoadedChunkOfACanceledPushIsNotPosted) {
    open_with(4 * chunk);
    far->take_long(std::chrono::milliseconds(50));
    Scattered there(4 * chunk);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    Transfer* const transfer = start(args_of(lent, region, Direction::push), outcome);
    far->await_begin();
    mover->cancel(*transfer);
    run();
    EXPECT_EQ(outcome.completions, 0) << "a copy is under way";
    while (outcome.completions == 0) {
        (void)context->progress(Microseconds{10'000});
        (void)context->trigger(64);
    }
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(far->ended, far->entered);
    EXPECT_EQ(port().posts, 0u);
}

TEST_F(FarMoverOnThreads, ACloseWaitsForTheCopyUnderWay) {
    open_with(4 * chunk);
    far->take_long(std::chrono::milliseconds(50));
    Scattered there(4 * chunk);
    const Lent lent(there.region, {transport});
    Outcome outcome;
    start(args_of(lent, region, Direction::push), outcome);
    far->await_begin();
    mover->close();
    EXPECT_EQ(far->ended, far->entered);
    run();
    EXPECT_EQ(outcome.completions, 1);
    EXPECT_EQ(outcome.result, Errc::canceled);
}

}  // namespace
}  // namespace cinnabar::bulk
