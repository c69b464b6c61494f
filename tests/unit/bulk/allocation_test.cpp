// SPDX-License-Identifier: BSD-3-Clause
// In steady state a transfer allocates nothing: slots, chunks, plans and bookkeeping are reused.
#include "mover_fixture.hpp"
#include "support/allocation_count.hpp"

namespace cinnabar::bulk {
namespace {

class Allocations : public MoverFixture {
  protected:
    // Moves the whole of `here` `rounds` times, several transfers at once; returns how many allocations that took.
    std::uint64_t count(const TransferArgs& args, int rounds) {
        port().complete_per_poll = 4;
        struct Ended {
            Mover* mover;
            int count = 0;
            int failed = 0;
        } ended{mover.get()};
        const auto done = [](Transfer& transfer, void* user) noexcept {
            auto& all = *static_cast<Ended*>(user);
            ++all.count;
            if (transfer.result() != Errc::ok) ++all.failed;
            all.mover->release(transfer);
        };
        const std::uint64_t before = support::allocations();
        for (int i = 0; i < rounds; ++i) {
            Errc why = Errc::ok;
            for (int k = 0; k < 8; ++k) {
                if (!mover->start(args, done, &ended, Deliver::queued, nullptr, why)) ++ended.failed;
            }
            run();
        }
        const std::uint64_t after = support::allocations();
        EXPECT_EQ(ended.count, rounds * 8);
        EXPECT_EQ(ended.failed, 0);
        return after - before;
    }
};

TEST_F(Allocations, NoneForAWindowOfChunks) {
    open({.chunk_bytes = 100});
    Scattered there({1000, 1000}, na::Access::read_write);
    Scattered here({500, 1500}, na::Access::read_write);
    const Lent lent(there.region, {transport});
    TransferArgs args = args_of(lent, here.region);
    args.deadline = clock.now + 1'000'000;
    (void)count(args, 3);
    EXPECT_EQ(count(args, 50), 0u);
}

TEST_F(Allocations, NoneForSegmentsOnBothSidesAndStaging) {
    transport->caps_.offset_addressing = false;
    transport->limits_.op_segments_max = 2;
    open({.chunk_bytes = 4000});
    Scattered there(std::vector<std::size_t>(10, 400), na::Access::read_write);
    Scattered here(std::vector<std::size_t>(100, 40), na::Access::read_write);
    const Lent lent(there.region, {transport});
    const TransferArgs args = args_of(lent, here.region, Direction::push);
    (void)count(args, 3);
    EXPECT_EQ(count(args, 50), 0u);
}

}  // namespace
}  // namespace cinnabar::bulk
