// SPDX-License-Identifier: BSD-3-Clause
// Many concurrent transfers from one seed, with random segments, limits, orders, refusals, cancels, deadlines and
// errors. Every transfer ends once, changes only bytes in its window, and touches nothing after its end.
#include "mover_fixture.hpp"
#include "support/seeds.hpp"

#include <algorithm>
#include <thread>

namespace cinnabar::bulk {
namespace {

std::vector<std::size_t> random_sizes(Random& random) {
    std::vector<std::size_t> sizes(1 + random.below(12));
    for (std::size_t& size : sizes) size = 1 + random.below(random.chance(3) ? 3000 : 90);
    return sizes;
}

// One transfer with memory of its own on both sides.
struct Move {
    Move(Random& random, const std::shared_ptr<FakeTransport>& transport)
        : there(random_sizes(random), na::Access::read_write),
          here(random_sizes(random), na::Access::read_write),
          lent(there.region, {transport}) {
        args.direction = random.chance(2) ? Direction::pull : Direction::push;
        args.remote = &lent.remote;
        args.bytes = random.below(std::min(there.region.bytes(), here.region.bytes()) + 1);
        args.remote_offset = random.below(there.region.bytes() - args.bytes + 1);
        local_offset = random.below(here.region.bytes() - args.bytes + 1);
        args.local = here.region.slice(local_offset, here.region.bytes() - local_offset);
        args.peer = transport->addr("peer" + std::to_string(random.below(3)));
        there.fill(random.next());
        here.fill(random.next());
        there_before = there.bytes();
        here_before = here.bytes();
    }

    // Call it after the completion: the destination has the right bytes, and a failure changed nothing outside the
    // window.
    void check() {
        const bool pull = args.direction == Direction::pull;
        std::vector<std::byte> wanted = pull ? here_before : there_before;
        const std::vector<std::byte>& from = pull ? there_before : here_before;
        const std::uint64_t from_offset = pull ? args.remote_offset : local_offset;
        const std::uint64_t to_offset = pull ? local_offset : args.remote_offset;
        std::vector<std::byte> got = (pull ? here : there).bytes();
        const auto at = [](auto& bytes, std::uint64_t offset) {
            return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
        };
        std::copy(at(from, from_offset), at(from, from_offset + args.bytes), at(wanted, to_offset));
        if (outcome.result != Errc::ok) {
            // Some chunks may have been moved.
            for (std::uint64_t i = to_offset; i < to_offset + args.bytes; ++i) {
                const std::byte before = pull ? here_before[i] : there_before[i];
                ASSERT_TRUE(got[i] == before || got[i] == wanted[i]);
                wanted[i] = got[i];
            }
        }
        ASSERT_EQ(got, wanted);
        ASSERT_EQ((pull ? there : here).bytes(), from) << "the origin changed";
        after_here = here.bytes();
    }

    Scattered there;
    Scattered here;
    Lent lent;
    TransferArgs args;
    std::uint64_t local_offset = 0;
    std::vector<std::byte> there_before;
    std::vector<std::byte> here_before;
    std::vector<std::byte> after_here;
    Outcome outcome;
};

class MoverRandom : public MoverFixture {
  public:
    MoverRandom() = default;
    ~MoverRandom() override = default;
    void TestBody() override {}
    void walk(std::uint64_t seed);
    void finish() { TearDown(); }
};

void MoverRandom::walk(std::uint64_t seed) {
    Random random(seed);
    transport->caps_.offset_addressing = random.chance(2);
    transport->limits_.op_segments_max = 1 + random.below(6);
    transport->limits_.rma_bytes_max = 1 + random.below(4000);
    transport->limits_.rma_inflight_max = static_cast<std::uint32_t>(random.below(10));
    open({.chunk_bytes = 1 + random.below(2000),
          .window = static_cast<std::uint32_t>(1 + random.below(10)),
          .inflight_bytes_max = 1 + random.below(8000),
          .peer_inflight_bytes_max = 1 + random.below(4000),
          .chunks_max = static_cast<std::uint32_t>(1 + random.below(20)),
          .staging_segment_bytes = random.below(100)});
    port().random = Random(seed + 1);
    port().again_one_in = random.below(4);
    port().revocable = random.chance(2);

    std::vector<std::unique_ptr<Move>> moves;
    for (std::uint64_t i = 1 + random.below(12); i > 0; --i) {
        moves.push_back(std::make_unique<Move>(random, transport));
    }
    std::size_t started = 0;
    std::size_t ended = 0;
    for (int steps = 0; ended < moves.size(); ++steps) {
        ASSERT_LT(steps, 200'000) << "it hangs";
        if (started < moves.size() && random.chance(3)) {
            Move& move = *moves[started++];
            if (random.chance(4)) move.args.deadline = clock.now + random.below(3000);
            ASSERT_NE(start(move.args, move.outcome, random.chance(2) ? Deliver::queued : Deliver::internal), nullptr);
        }
        if (started > 0 && random.chance(20)) {
            Move& move = *moves[random.below(started)];
            if (move.outcome.completions == 0) mover->cancel(*move.outcome.transfer);
        }
        if (!port().posted.empty() && random.chance(2)) {
            static constexpr Errc errors[] = {Errc::permission, Errc::peer_lost, Errc::protocol, Errc::too_large};
            na::Op* op = port().posted[random.below(port().posted.size())];
            port().end(*op, random.chance(30) ? errors[random.below(4)] : Errc::ok);
        }
        if (random.chance(3)) clock.now += random.below(200);
        (void)context->progress(Microseconds{0});
        (void)context->trigger(1 + static_cast<unsigned>(random.below(3)));
        ended = 0;
        for (std::size_t i = 0; i < started; ++i) {
            Move& move = *moves[i];
            ASSERT_LE(move.outcome.completions, 1);
            if (move.outcome.completions == 0) continue;
            ++ended;
            if (!move.after_here.empty()) continue;
            ASSERT_NO_FATAL_FAILURE(move.check());
        }
    }
    for (auto& move : moves) {
        ASSERT_EQ(move->here.bytes(), move->after_here) << "touched after the completion";
    }
    run();
}

TEST(MoverRandomly, EveryTransferEndsOnceAndTouchesOnlyItsWindow) {
    test::for_each_seed([](std::uint64_t seed) {
        MoverRandom world;
        world.walk(seed);
        if (!::testing::Test::HasFatalFailure()) world.finish();
    });
}

// A context for many threads: independent threads start, cancel and release transfers, while others make progress and
// trigger.
struct MoverThreads : MoverFixture {
    static constexpr int rounds = 300;
    struct Mine {
        std::atomic<bool> done{false};
        Errc result = Errc::again;
        std::atomic<int>* completions = nullptr;
    };

    MoverThreads() : MoverFixture(ThreadUse::many) {}

    static void on_done(Transfer& transfer, void* user) noexcept {
        auto& mine = *static_cast<Mine*>(user);
        mine.result = transfer.result();
        ++*mine.completions;
        mine.done.store(true, std::memory_order_release);
        mine.done.notify_one();
    }

    void make_progress() {
        while (!stop.load()) {
            (void)context->progress(Microseconds{1000});
            while (context->trigger(4) != 0) {
            }
        }
    }

    void use(unsigned number) {
        Random random(number + 1);
        Scattered there({500, 500}, na::Access::read_write);
        Scattered here({300, 700}, na::Access::read_write);
        there.fill(number);
        const std::vector<std::byte> wanted = there.bytes();
        const Lent lent(there.region, {transport});
        TransferArgs args = args_of(lent, here.region);
        args.peer = transport->addr("peer" + std::to_string(number % 2));
        std::vector<std::unique_ptr<Mine>> kept;  // the callback may still notify while this thread goes on
        for (int i = 0; i < rounds; ++i) {
            kept.push_back(std::make_unique<Mine>());
            Mine& mine = *kept.back();
            mine.completions = &completions;
            Errc why = Errc::ok;
            const Deliver deliver = random.chance(2) ? Deliver::queued : Deliver::internal;
            Transfer* transfer = mover->start(args, &on_done, &mine, deliver, nullptr, why);
            if (!transfer) {
                ++wrong;
                continue;
            }
            const bool cancel = random.chance(3);
            if (cancel) mover->cancel(*transfer);
            mine.done.wait(false, std::memory_order_acquire);
            if (random.chance(10)) mover->cancel(*transfer);
            mover->release(*transfer);
            if (mine.result != Errc::ok && !(cancel && mine.result == Errc::canceled)) ++wrong;
            if (mine.result == Errc::ok && here.bytes() != wanted) ++wrong;
            here.fill(99);
        }
    }

    std::atomic<int> completions{0};
    std::atomic<int> wrong{0};
    std::atomic<bool> stop{false};
};

TEST_F(MoverThreads, AnyThreadStartsCancelsAndReleases) {
    transport->clock_ = nullptr;  // use the machine's clock
    open({.chunk_bytes = 64, .window = 4, .inflight_bytes_max = 4096, .peer_inflight_bytes_max = 1024});
    port().complete_per_poll = 8;
    port().again_one_in = 10;
    constexpr unsigned users_count = 3;
    {
        std::vector<std::jthread> progress;
        for (int t = 0; t < 2; ++t) progress.emplace_back([this] { make_progress(); });
        std::vector<std::jthread> users;
        for (unsigned t = 0; t < users_count; ++t) users.emplace_back([this, t] { use(t); });
        users.clear();
        stop = true;
        context->wake();
    }
    while (context->progress(Microseconds{0}) != 0) {
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(completions, static_cast<int>(users_count) * rounds);
    EXPECT_EQ(mover->transfers(), 0u);
}

}  // namespace
}  // namespace cinnabar::bulk
