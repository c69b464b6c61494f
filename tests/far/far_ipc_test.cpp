// SPDX-License-Identifier: BSD-3-Clause
// Transfers by handle over a simulated transport, one side at a time: the side that opens the memory that it is shown,
// and the side that shows its memory to the owner of other memory.
#include "far_fixture.hpp"
#include "unit/bulk/mover_fixture.hpp"

#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/bulk/owner_moves.hpp>

#include <algorithm>
#include <deque>
#include <future>

namespace cinnabar::bulk {
namespace {

using test::MadeUpFar;

constexpr std::size_t ipc_bytes = 5000;

struct FarIpcFixture : MoverFixture {
    void open_with(MoverOptions options = {.chunk_bytes = 1000}) {
        options.ipc_bytes_min = 1000;
        open(options);
        far = std::make_shared<MadeUpFar>(ipc_bytes, 1);
        region = Region::of_far(far, na::Access::read_write).value();
        other = std::make_shared<MadeUpFar>(ipc_bytes, 2);
        EXPECT_EQ(other->ipc_handle(0, shown).code, Errc::ok);
        peer = &peer_of(here);
    }
    na::Peer& peer_of(const na::Addr& addr) {
        auto& found = static_cast<FakePeer&>(*port().peer(addr).value());
        found.set_of_own_user(true);
        return found;
    }
    const na::Addr here = transport->addr("peer");
    na::Peer* peer = nullptr;
    std::shared_ptr<MadeUpFar> far;  // memory of this side
    std::shared_ptr<MadeUpFar> other;
    Region region;
    IpcHandle shown;  // of `other`
};

// --- the side that opens

struct FarIpcOpener : FarIpcFixture {
    [[nodiscard]] TransferArgs args_by_handle(Direction direction) {
        TransferArgs args;
        args.direction = direction;
        args.shown = &shown;
        args.local = region;
        args.bytes = region.bytes();
        args.connected = peer;
        return args;
    }
    [[nodiscard]] Errc ending_of(const TransferArgs& args) {
        Outcome outcome;
        start(args, outcome);
        run();
        EXPECT_EQ(far->open, 0);
        return outcome.result;
    }
};

TEST_F(FarIpcOpener, CopiesInOnePieceWithoutBuffersAndCloses) {
    open_with({.chunk_bytes = 1000, .inflight_bytes_max = 1});
    shown.offset = 4;
    TransferArgs args = args_by_handle(Direction::pull);
    args.local = region.slice(1, ipc_bytes - 4);
    args.bytes = args.local.bytes();
    EXPECT_EQ(ending_of(args), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(far->memory()).subspan(1, ipc_bytes - 4), 2, 4));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(far->memory()).first(1), 1));
    EXPECT_EQ(far->opens, 1);
    EXPECT_EQ(far->entered, 1);
    EXPECT_EQ(port().posts, 0u);
    EXPECT_EQ(*far->pins, 0);
}

TEST_F(FarIpcOpener, CopiesTheOtherWayToo) {
    open_with();
    EXPECT_EQ(ending_of(args_by_handle(Direction::push)), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(other->memory(), 1));
}

TEST_F(FarIpcOpener, ListsOfMemoryOfDevicesAreCopiedPartByPart) {
    open_with();
    const auto second = std::make_shared<MadeUpFar>(ipc_bytes, 3);
    const std::array parts{region.slice(10, 2000),
                           Region::of_far(second, na::Access::read_write).value().slice(7, ipc_bytes - 2000)};
    const Region both = Region::join(parts, na::Access::read_write).value();
    TransferArgs args = args_by_handle(Direction::pull);
    args.local = both;
    EXPECT_EQ(ending_of(args), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(far->memory()).subspan(10, 2000), 2));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(second->memory()).subspan(7, ipc_bytes - 2000), 2, 2000));
    EXPECT_EQ(far->opens + second->opens, 1);
}

TEST_F(FarIpcOpener, WhatIsNotOfTheDeviceAloneIsRefused) {
    open_with();
    std::vector<std::byte> host(1000);
    const std::array parts{region.slice(0, ipc_bytes - 1000),
                           Region::expose(Bytes(host), na::Access::read_write).value()};
    TransferArgs args = args_by_handle(Direction::pull);
    args.local = Region::join(parts, na::Access::read_write).value();
    EXPECT_EQ(ending_of(args), Errc::unsupported);
    const test::PatternFile file(ipc_bytes);
    args.local = file.region(0, ipc_bytes);
    EXPECT_EQ(ending_of(args), Errc::unsupported);
    args.local = Region::expose(Bytes(host), na::Access::read_write).value();
    args.bytes = 1000;
    EXPECT_EQ(ending_of(args), Errc::unsupported);
    args = args_by_handle(Direction::pull);
    shown.kind = MemoryKind::file;
    EXPECT_EQ(ending_of(args), Errc::unsupported);
    args.local = Region::of_far(far, na::Access::read).value();
    EXPECT_EQ(ending_of(args), Errc::permission);
    args.connected = nullptr;
    EXPECT_EQ(ending_of(args), Errc::invalid_argument);
    EXPECT_EQ(far->opens, 0);
}

TEST_F(FarIpcOpener, FailuresHaveTheirCodesAndNothingStaysOpen) {
    open_with();
    const TransferArgs args = args_by_handle(Direction::pull);
    shown.offset = 1;
    EXPECT_EQ(ending_of(args), Errc::too_large) << "the other memory is smaller than it says";
    shown.offset = 0;
    far->open_fails = Errc::unsupported;
    EXPECT_EQ(ending_of(args), Errc::unsupported);
    far->open_fails = Errc::ok;
    far->close_fails = Errc::io;
    EXPECT_EQ(ending_of(args), Errc::io);
    far->close_fails = Errc::ok;
    far->fail_after(0, Errc::out_of_memory);
    EXPECT_EQ(ending_of(args), Errc::out_of_memory);
    far->fail_after(0, Errc::unsupported);
    EXPECT_EQ(ending_of(args), Errc::io) << "something was opened: there is no other way any more";
    EXPECT_EQ(far->opens, 3);
}

// On the real clock, on which threads make the copies.
struct FarIpcOnThreads : FarIpcOpener {
    FarIpcOnThreads() { transport->clock_ = nullptr; }
    void run_until(const std::function<bool()>& done) {
        while (!done()) {
            (void)context->progress(Microseconds{10'000});
            (void)context->trigger(64);
        }
    }
};

// Large enough for three pieces, but without any bytes.
class HugeFar final : public FarMemory {
  public:
    explicit HugeFar(std::function<void()> each) : each_(std::move(each)) {}
    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::cuda; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return std::uint64_t{3} << 30; }
    [[nodiscard]] FarEnd load(std::uint64_t, Bytes) noexcept override { return {Errc::io, 0}; }
    [[nodiscard]] FarEnd store(std::uint64_t, ConstBytes) noexcept override { return {Errc::io, 0}; }
    [[nodiscard]] WorkThreads& threads() const noexcept override {
        static auto* const threads = new WorkThreads(2);
        return *threads;
    }
    [[nodiscard]] std::unique_ptr<IpcMemory> open_ipc(const IpcHandle&, std::uint64_t, FarEnd&) noexcept override {
        struct Opened final : IpcMemory {
            explicit Opened(HugeFar& opener) : by(opener) {}
            [[nodiscard]] FarEnd close() noexcept override {
                --by.open;
                return {};
            }
            HugeFar& by;
        };
        ++opens;
        ++open;
        return std::make_unique<Opened>(*this);
    }
    [[nodiscard]] FarEnd store_from(std::uint64_t offset, const IpcMemory&, std::uint64_t at,
                                    std::uint64_t bytes) noexcept override {
        EXPECT_EQ(offset, at);
        EXPECT_EQ(bytes, std::uint64_t{1} << 30);
        ++pieces;
        each_();
        return {};
    }
    std::atomic<int> pieces{0};
    std::atomic<int> opens{0};
    std::atomic<int> open{0};

  private:
    const std::function<void()> each_;
};

TEST_F(FarIpcOnThreads, TwoOfAPeerAreCopiedAtATimeAndTheOthersGoWithIt) {
    open_with();
    std::promise<void> go;
    std::promise<void> begun;
    std::atomic<int> begins{0};
    const auto huge = std::make_shared<HugeFar>([&, held = go.get_future().share()] {
        if (++begins == 1) begun.set_value();
        held.wait();
    });
    TransferArgs args = args_by_handle(Direction::pull);
    args.local = Region::of_far(huge, na::Access::write).value();
    args.bytes = huge->bytes();
    std::array<Outcome, 5> outcomes;
    const auto ended = [&] {
        return std::count_if(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.completions == 1; });
    };
    for (Outcome& outcome : outcomes) start(args, outcome);
    begun.get_future().wait();
    mover->peer_lost(*peer, Errc::peer_lost);
    run();
    EXPECT_GE(ended(), 3) << "those that had not begun";
    EXPECT_LE(ended(), 4);
    go.set_value();
    run_until([&] { return ended() == 5; });
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.result, Errc::peer_lost);
    EXPECT_LE(huge->opens, 2);
    EXPECT_EQ(huge->open, 0);
    EXPECT_LE(huge->pieces, 2);
}

TEST_F(FarIpcOnThreads, ACloseWaitsForTheCopyAndDropsTheOthers) {
    open_with();
    far->take_long(std::chrono::milliseconds(50));
    std::array<Outcome, 5> outcomes;
    for (Outcome& outcome : outcomes) start(args_by_handle(Direction::pull), outcome);
    far->await_begin();
    mover->close();
    EXPECT_EQ(far->ended, far->entered);
    EXPECT_EQ(far->open, 0);
    run();
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.completions, 1);
    EXPECT_LE(far->opens, 2);
}

TEST_F(FarIpcOnThreads, ALargeCopyStopsBetweenItsPieces) {
    open_with();
    std::promise<void> begun;
    std::promise<void> go;
    const auto huge = std::make_shared<HugeFar>([&] {
        begun.set_value();
        go.get_future().wait();
    });
    TransferArgs args = args_by_handle(Direction::pull);
    args.local = Region::of_far(huge, na::Access::write).value();
    args.bytes = huge->bytes();
    Outcome outcome;
    Transfer* const transfer = start(args, outcome);
    begun.get_future().wait();
    mover->cancel(*transfer);
    run();
    EXPECT_EQ(outcome.completions, 0) << "a piece is under way";
    go.set_value();
    run_until([&] { return outcome.completions == 1; });
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_EQ(huge->pieces, 1);
}

TEST_F(FarIpcOnThreads, ALargeCopyIsMadeInPieces) {
    open_with();
    const auto huge = std::make_shared<HugeFar>([] {});
    TransferArgs args = args_by_handle(Direction::pull);
    args.local = Region::of_far(huge, na::Access::write).value();
    args.bytes = huge->bytes();
    Outcome outcome;
    start(args, outcome);
    run_until([&] { return outcome.completions == 1; });
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(huge->pieces, 3);
}

// --- the side that shows

// Records what the owner is asked to do; the test answers.
class OwnerByHand final : public OwnerMoves {
  public:
    [[nodiscard]] Errc begin(OwnerMove& move) noexcept override {
        move.call = 1;
        begun.push_back(&move);
        return Errc::ok;
    }
    void cancel(OwnerMove&) noexcept override { ++cancels; }
    void end(Errc result) {
        OwnerMove& move = *begun.front();
        begun.pop_front();
        move.call = 0;
        move.result = result;
        move.done(move);
    }
    std::deque<OwnerMove*> begun;
    int cancels = 0;
};

struct FarIpcShower : FarIpcFixture {
    void open_with(MoverOptions options = {.chunk_bytes = 1000, .window = 16}) {
        FarIpcFixture::open_with(options);
        mover->set_owner_moves(owner);
        const Region lent = Region::of_far(other, na::Access::read_write).value();
        ASSERT_EQ(lend.grant(lent, na::Access::read_write, lender), Errc::ok);
        na::Lease* const lease = &lend.lease();
        const Description description{{&lease, 1}, {}, {}};
        encoded.resize(described_bytes(description));
        ByteWriter writer(encoded);
        describe(description, writer);
        ByteReader reader(encoded);
        ASSERT_EQ(RemoteRegion::decode(reader, remote), Errc::ok);
    }
    void TearDown() override {
        if (lend.granted()) {
            EXPECT_EQ(lend.revoke(), Errc::ok);
        }
        FarIpcFixture::TearDown();
    }
    [[nodiscard]] TransferArgs args_to_owner(const Region& local, Direction direction = Direction::pull) {
        TransferArgs args;
        args.direction = direction;
        args.remote = &remote;
        args.local = local;
        args.bytes = local.bytes();
        args.connected = peer;
        return args;
    }
    // Whether the memory itself is shown to the owner, instead of a window; ends the transfer.
    [[nodiscard]] bool is_shown(const TransferArgs& args) {
        Outcome outcome;
        start(args, outcome);
        run();
        bool by_handle = false;
        for (const OwnerMove* move : owner.begun) by_handle |= move->shown != nullptr;
        while (outcome.completions == 0 && !owner.begun.empty()) {
            owner.end(Errc::ok);
            run();
        }
        EXPECT_EQ(outcome.result, Errc::ok);
        return by_handle;
    }
    OwnerByHand owner;
    std::shared_ptr<FarLender> lender = std::make_shared<FarLender>();
    Lend lend;
    std::vector<std::byte> encoded;
    RemoteRegion remote;
};

TEST_F(FarIpcShower, AsksOnceForAllOfIt) {
    open_with();
    TransferArgs args = args_to_owner(region.slice(3, 4000));
    args.remote_offset = 9;
    Outcome outcome;
    start(args, outcome);
    run();
    ASSERT_EQ(owner.begun.size(), 1u);
    const OwnerMove& move = *owner.begun.front();
    ASSERT_NE(move.shown, nullptr);
    EXPECT_EQ(move.shown->offset, 3u);
    EXPECT_EQ(move.bytes, 4000u);
    EXPECT_EQ(move.offset, 9u);
    EXPECT_TRUE(move.window.empty());
    EXPECT_EQ(mover->bytes_inflight(), 0u);
    owner.end(Errc::ok);
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(outcome.progress, std::vector<std::uint64_t>{4000});
    EXPECT_EQ(far->entered, 0);
}

TEST_F(FarIpcShower, GoesThroughBuffersIfTheOwnerCannotOpenIt) {
    open_with();
    Outcome outcome;
    start(args_to_owner(region), outcome);
    run();
    owner.end(Errc::unsupported);
    run();
    ASSERT_EQ(owner.begun.size(), 5u) << "the chunks";
    while (!owner.begun.empty()) {
        EXPECT_EQ(owner.begun.front()->shown, nullptr);
        EXPECT_EQ(owner.begun.front()->window.bytes(), 1000u);
        owner.end(Errc::ok);
    }
    run();
    EXPECT_EQ(outcome.result, Errc::ok);
    EXPECT_EQ(far->entered, 5);
}

TEST_F(FarIpcShower, WhatHasNoHandleOrMayNotBeShownGoesThroughBuffers) {
    open_with();
    EXPECT_TRUE(is_shown(args_to_owner(region)));
    EXPECT_TRUE(is_shown(args_to_owner(region, Direction::push)));
    EXPECT_FALSE(is_shown(args_to_owner(region.slice(0, 999)))) << "too little to be worth it";
    const std::array<std::uint32_t, 2> numbers{2, 0};
    const Blocks blocks = Blocks::indexed(1000, numbers).value();
    TransferArgs args = args_to_owner(region.slice(0, 2000));
    args.remote_blocks = &blocks;
    EXPECT_FALSE(is_shown(args)) << "blocks";
    const std::array parts{region.slice(0, 1000), region.slice(2000, 1000)};
    EXPECT_FALSE(is_shown(args_to_owner(Region::join(parts, na::Access::read_write).value()))) << "a list";
    const test::PatternFile file(ipc_bytes);
    EXPECT_FALSE(is_shown(args_to_owner(file.region(0, ipc_bytes)))) << "a file";
    far->has_handles = false;
    EXPECT_FALSE(is_shown(args_to_owner(region)));
    far->has_handles = true;
    static_cast<FakePeer*>(peer)->set_of_own_user(false);
    EXPECT_FALSE(is_shown(args_to_owner(region)));
}

TEST_F(FarIpcShower, OtherErrorsOfTheOwnerEndIt) {
    open_with();
    for (const Errc code : {Errc::permission, Errc::too_large, Errc::io, Errc::peer_lost}) {
        Outcome outcome;
        start(args_to_owner(region), outcome);
        run();
        owner.end(code);
        run();
        EXPECT_EQ(outcome.result, code);
        EXPECT_TRUE(owner.begun.empty());
    }
}

TEST_F(FarIpcShower, ACancelWaitsForTheOwner) {
    open_with();
    Outcome outcome;
    Transfer* const transfer = start(args_to_owner(region, Direction::push), outcome);
    run();
    mover->cancel(*transfer);
    run();
    EXPECT_EQ(owner.cancels, 1);
    EXPECT_EQ(outcome.completions, 0) << "the owner may be reading it";
    owner.end(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::canceled);
}

// The owner cannot open the memory, but the transfer has ended meanwhile.
TEST_F(FarIpcShower, ACanceledOneDoesNotBeginAgain) {
    open_with();
    Outcome outcome;
    Transfer* const transfer = start(args_to_owner(region), outcome);
    run();
    mover->cancel(*transfer);
    run();
    owner.end(Errc::unsupported);
    run();
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_TRUE(owner.begun.empty());
}

TEST_F(FarIpcShower, ItEndsByItsDeadline) {
    open_with({.chunk_bytes = 1000, .stall_max = Microseconds{0}});
    TransferArgs args = args_to_owner(region);
    args.deadline = context->now_us() + 60'000'000;
    Outcome outcome;
    start(args, outcome);
    run();
    for (int i = 0; i < 59; ++i) pass(Microseconds{1'000'000});
    EXPECT_EQ(owner.cancels, 0);
    for (int i = 0; i < 2; ++i) pass(Microseconds{1'000'000});
    EXPECT_EQ(owner.cancels, 1);
    EXPECT_EQ(outcome.completions, 0);
    owner.end(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::timed_out);
}

TEST_F(FarIpcShower, AnOwnerThatDoesNotEndItStalls) {
    open_with({.chunk_bytes = 1000, .stall_max = Microseconds{1'000'000}});
    Outcome outcome;
    start(args_to_owner(region), outcome);
    run();
    for (int i = 0; i < 3; ++i) pass(Microseconds{260'000});  // a look each
    EXPECT_EQ(owner.cancels, 0);
    for (int i = 0; i < 2; ++i) pass(Microseconds{260'000});
    EXPECT_EQ(owner.cancels, 1);
    EXPECT_EQ(outcome.completions, 0);
    owner.end(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::timed_out);
    EXPECT_FALSE(region.quarantined());
}

TEST_F(FarIpcShower, MemoryThatTheOwnerDoesNotLetGoIsInQuarantine) {
    open_with();
    Outcome outcome;
    Transfer* const transfer = start(args_to_owner(region.slice(0, 4000)), outcome);
    run();
    mover->cancel(*transfer);
    run();
    owner.begun.front()->let_go = false;
    owner.end(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::canceled);
    EXPECT_TRUE(region.quarantined());
    EXPECT_FALSE(region.slice(4000, 1000).quarantined());
    EXPECT_TRUE(is_shown(args_to_owner(region.slice(4000, 1000)))) << "the rest can be used";
}

TEST_F(FarIpcShower, TheBufferOfAMoveThatTheOwnerDoesNotLetGoIsNotUsedAgain) {
    open_with();
    far->has_handles = false;
    Outcome outcome;
    Transfer* const transfer = start(args_to_owner(region.slice(0, 1000)), outcome);
    run();
    ASSERT_EQ(owner.begun.size(), 1u);
    const std::byte* const kept = owner.begun.front()->window.contiguous().data();
    mover->cancel(*transfer);
    run();
    owner.begun.front()->window.quarantine_for_good();
    owner.begun.front()->let_go = false;
    owner.end(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::canceled);
    for (int i = 0; i < 2; ++i) {
        Outcome next;
        start(args_to_owner(region.slice(0, 1000)), next);
        run();
        ASSERT_EQ(owner.begun.size(), 1u);
        EXPECT_NE(owner.begun.front()->window.contiguous().data(), kept);
        owner.end(Errc::ok);
        run();
        EXPECT_EQ(next.result, Errc::ok);
    }
}

TEST_F(FarIpcShower, AnAnswerFromAnOwnerThatHasNotLetGoIsAnError) {
    open_with();
    std::vector<std::byte> memory(1000);
    const Region host = Region::expose(Bytes(memory), na::Access::read_write).value();
    for (const Direction direction : {Direction::push, Direction::pull}) {
        for (const Region& local : {host, region}) {
            Outcome outcome;
            start(args_to_owner(local.slice(0, 1000), direction), outcome);
            run();
            ASSERT_EQ(owner.begun.size(), 1u);
            owner.begun.front()->let_go = false;
            owner.end(Errc::ok);
            run();
            EXPECT_EQ(outcome.result, Errc::timed_out);
        }
    }
    EXPECT_EQ(far->entered, 0) << "nothing was stored";
}

// The transfer through buffers may stall.
TEST_F(FarIpcShower, AfterItBeginsAgainItMayStall) {
    open_with({.chunk_bytes = 1000, .stall_max = Microseconds{1'000'000}});
    Outcome outcome;
    start(args_to_owner(region), outcome);
    run();
    owner.end(Errc::unsupported);
    run();
    for (int i = 0; i < 6; ++i) pass(Microseconds{250'000});
    EXPECT_GT(owner.cancels, 0);
    while (!owner.begun.empty()) owner.end(Errc::canceled);
    run();
    EXPECT_EQ(outcome.result, Errc::timed_out);
}

}  // namespace
}  // namespace cinnabar::bulk
