// SPDX-License-Identifier: BSD-3-Clause
// More peers than connections: idle peers are asked to disconnect, and reconnect unnoticed by their users.
#include "rpc_fixture.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t connections_max = 16;
constexpr std::uint32_t full = connections_max - connections_max / 8;  // above this, idle peers are asked to disconnect

class EvictTest : public RpcTest {
  protected:
    void SetUp() override {
        if (network_.one_process()) GTEST_SKIP() << "both sides share their transport";
        transport_options_.connections_max = most_;
        open(target_, 0, true);
        to_ = target_.context->self_addr();
        serve_echo();
        origins_.resize(peers_);
    }
    void TearDown() override {
        for (Side& origin : origins_) origin.context.reset();
        RpcTest::TearDown();
    }
    void open_peer(std::size_t i) { open(origins_[i], 0, false, ("origin" + std::to_string(i)).c_str()); }

    [[nodiscard]] bool all_until(const std::function<bool()>& done) {
        support::Pump pump(network_.world_or_null());
        pump.add(target_.context->na());
        for (const Side& origin : origins_) {
            if (origin.context) pump.add(origin.context->na());
        }
        return pump.until(done, std::chrono::seconds(20));
    }
    Call* call_from(std::size_t i, const char* name, Ending& ending, Microseconds time = Microseconds::max(),
                    bool one_way = false) {
        Errc why = Errc::ok;
        Call* call = origins_[i].context->make_call(to_, why);
        EXPECT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id(name);
        call->args.one_way = one_way;
        call->args.deadline = origins_[i].context->deadline_in(time);
        EXPECT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
        return call;
    }
    void echo_from(std::size_t i) {
        Ending ending;
        call_from(i, "echo", ending);
        ASSERT_TRUE(all_until([&] { return ending.count == 1; })) << i;
        EXPECT_EQ(ending.result, Errc::ok) << i << ": " << to_string(ending.result);
        ASSERT_TRUE(has_room());
    }
    // The idle peers have disconnected.
    [[nodiscard]] bool has_room() {
        return all_until([&] { return target_.context->counts().connections <= full; });
    }

    std::uint32_t most_ = connections_max;
    const std::size_t peers_ = support::thread_sanitizer && network_.is_ofi() ? 20 : 40;
    std::vector<Side> origins_;
};

TEST_P(EvictTest, ManyPeersTakeTurnsWithFewConnections) {
    for (std::size_t i = 0; i < peers_; ++i) {
        open_peer(i);
        echo_from(i);
    }
    for (std::size_t i = 0; i < peers_; ++i) echo_from(i);
}

TEST_P(EvictTest, WhoHasACallUnderWayStays) {
    Request* held = nullptr;
    serve("hold", [&held](Request& request) {
        request.detach();
        held = &request;
    });
    open_peer(0);
    Ending busy;
    call_from(0, "hold", busy);
    ASSERT_TRUE(all_until([&] { return held != nullptr; }));
    for (std::size_t i = 1; i < peers_; ++i) {
        open_peer(i);
        echo_from(i);
    }
    EXPECT_EQ(busy.count, 0);
    held->respond(0);
    held->release();
    ASSERT_TRUE(all_until([&] { return busy.count == 1; }));
    EXPECT_EQ(busy.result, Errc::ok) << to_string(busy.result);
}

// A call that is made while its peer is asked to disconnect waits for the outcome, and is lost in neither case.
TEST_P(EvictTest, ACallThatCrossesTheQuestionIsNotLost) {
    for (std::size_t i = 0; i < peers_; ++i) open_peer(i);
    std::vector<Ending> endings(4 * peers_);
    std::size_t next = 0;
    for (int rounds = 0; rounds < 4; ++rounds) {
        // Only a few at a time: peers are rejected if too many connect at once.
        for (std::size_t begin = 0; begin < peers_; begin += 2) {
            const std::size_t first = next;
            for (std::size_t i = begin; i < begin + 2; ++i) call_from(i, "echo", endings[next++]);
            ASSERT_TRUE(all_until([&] {
                return std::all_of(endings.begin() + static_cast<std::ptrdiff_t>(first),
                                   endings.begin() + static_cast<std::ptrdiff_t>(next),
                                   [](const Ending& ending) { return ending.count == 1; });
            }));
            ASSERT_TRUE(has_room());
        }
    }
    for (const Ending& ending : endings) EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
}

class AskedToLeaveTest : public EvictTest {
  protected:
    void SetUp() override {
        EvictTest::SetUp();
        if (!IsSkipped()) open_peer(0);
    }
    [[nodiscard]] std::uint32_t connections() { return target_.context->counts().connections; }
    // Asks the target; returns whether a question is on its way.
    [[nodiscard]] bool ask(Microseconds quiet) {
        origins_[0].context->ask_to_leave(to_, quiet);
        std::array<PeerSnapshot, 4> peers;
        LookCursor place;
        const unsigned found = origins_[0].context->look_at_peers(place, peers);
        return std::any_of(peers.begin(), peers.begin() + found, [](const auto& peer) { return peer.leaving; });
    }
};

TEST_P(AskedToLeaveTest, AnUnusedConnectionIsClosedAndTheNextCallMakesAnother) {
    EXPECT_FALSE(ask(Microseconds{0})) << "there is no connection yet";
    echo_from(0);
    EXPECT_EQ(connections(), 1u);
    // A message about credits may be on its way at first, for which either side keeps the connection.
    ASSERT_TRUE(all_until([&] {
        (void)ask(Microseconds{0});
        return connections() == 0;
    }));
    echo_from(0);
    EXPECT_EQ(connections(), 1u);
}

TEST_P(AskedToLeaveTest, AConnectionThatWasUsedOfLateStays) {
    echo_from(0);
    EXPECT_FALSE(ask(std::chrono::hours(1)));
    echo_from(0);
    EXPECT_EQ(connections(), 1u);
}

TEST_P(AskedToLeaveTest, AConnectionWithACallUnderWayStays) {
    Request* held = nullptr;
    serve("hold", [&held](Request& request) {
        request.detach();
        held = &request;
    });
    Ending busy;
    call_from(0, "hold", busy);
    ASSERT_TRUE(all_until([&] { return held != nullptr; }));
    EXPECT_FALSE(ask(Microseconds{0}));
    held->respond(0);
    held->release();
    ASSERT_TRUE(all_until([&] { return busy.count == 1; }));
    EXPECT_EQ(busy.result, Errc::ok) << to_string(busy.result);
}

// Memory that is lent without a call, as a third party sees it that was given the descriptor.
struct LentToAnyone : bulk::Lend {
    bool over = false;

    void lend_to_anyone(const bulk::Region& region, const std::shared_ptr<na::Transport>& transport) {
        ASSERT_EQ(grant(region, na::Access::read_write, transport), Errc::ok);
        na::Lease* const leases[] = {&lease()};
        const bulk::Description description{leases, {}, {}};
        descriptor.resize(bulk::described_bytes(description));
        ByteWriter writer(descriptor);
        bulk::describe(description, writer);
        ByteReader reader(descriptor);
        ASSERT_EQ(bulk::RemoteRegion::decode(reader, remote), Errc::ok);
    }
    void take_back() {
        fenced.run = [](WorkItem& work) noexcept { static_cast<LentToAnyone&>(of(work)).over = true; };
        if (revoke() == Errc::ok) over = true;
    }
    bulk::RemoteRegion remote;

  private:
    std::vector<std::byte> descriptor;
};

// Neither side knows a call of the other, but the origin pulls memory of the target.
TEST_P(AskedToLeaveTest, AConnectionWithATransferUnderWayStays) {
    na::Addr origin;
    serve("tell_source", [&origin](Request& request) {
        origin = request.source();
        request.respond(0);
        request.release();
    });
    Ending ending;
    call_from(0, "tell_source", ending);
    int rounds = 0;  // messages about credits would be another reason to stay
    (void)all_until([&] { return ending.count == 1 && ++rounds == 50; });
    ASSERT_EQ(ending.result, Errc::ok) << to_string(ending.result);

    std::vector<std::byte> theirs(4'000'000, std::byte{1});
    std::vector<std::byte> ours(theirs.size());
    LentToAnyone lent;
    lent.lend_to_anyone(bulk::Region::expose(Bytes(theirs), na::Access::read_write).value(), target_.transport);
    bulk::TransferArgs args;
    args.remote = &lent.remote;
    args.local = bulk::Region::expose(Bytes(ours), na::Access::write).value();
    args.bytes = ours.size();
    args.peer = to_;
    bool over = false;
    Errc why = Errc::ok;
    bulk::Mover& mover = origins_[0].context->mover();
    bulk::Transfer* const transfer = mover.start(
        args, [](bulk::Transfer&, void* user) noexcept { *static_cast<bool*>(user) = true; }, &over,
        bulk::Deliver::queued, nullptr, why);
    ASSERT_NE(transfer, nullptr) << to_string(why);
    const bool asked = ask(Microseconds{0});
    EXPECT_TRUE(!asked || transfer->bytes_done() == ours.size());
    // The origin, which is asked, has a transfer; the target knows of none.
    target_.context->ask_to_leave(origin, Microseconds{0});
    EXPECT_TRUE(all_until([&] { return over; }));
    EXPECT_EQ(transfer->result(), Errc::ok) << to_string(transfer->result());
    EXPECT_EQ(ours, theirs);
    mover.release(*transfer);
    lent.take_back();
    EXPECT_TRUE(all_until([&] { return lent.over; }));
}

class UnansweredTest : public EvictTest {};

TEST_P(UnansweredTest, WhoDoesNotAnswerIsCutOff) {
    for (std::size_t i = 0; i < full; ++i) {
        open_peer(i);
        echo_from(i);
    }
    // On other networks it is enough that these peers are not driven.
    for (std::size_t i = 0; network_.is_sim() && i < full; ++i) network_.world().stop("origin" + std::to_string(i));
    log_.allow("has not answered");
    open_peer(full);
    Ending ending;
    call_from(full, "echo", ending);
    support::Pump awake(network_.world_or_null());
    awake.add(target_.context->na());
    awake.add(origins_[full].context->na());
    const auto connections = [&] { return target_.context->counts().connections; };
    ASSERT_TRUE(awake.until([&] { return ending.count == 1; }, std::chrono::seconds(20)));
    EXPECT_EQ(connections(), full + 1);
    ASSERT_TRUE(awake.until([&] { return connections() == full; }, std::chrono::seconds(20)));
    for (std::size_t i = 0; network_.is_sim() && i < full; ++i) network_.world().resume("origin" + std::to_string(i));
}

class OneConnectionTest : public EvictTest {
  protected:
    OneConnectionTest() {
        most_ = 1;
        options_.leave_max = Microseconds{0};  // an origin that closes alone would wait for the target
    }
};

// A one-way call leaves its origin idle, which would leave if it were asked.
TEST_P(OneConnectionTest, ItIsNotAskedToLeave) {
    int notes = 0;
    serve("note", [&notes](Request& request) {
        ++notes;
        request.release();
    });
    int lost = 0;
    const auto count = [](const na::Addr&, na::PeerEvent event, Errc, void* user) noexcept {
        if (event == na::PeerEvent::lost) ++*static_cast<int*>(user);
    };
    target_.context->on_peer(count, &lost);
    open_peer(0);
    for (int calls = 1; calls <= 20; ++calls) {
        Ending note;
        call_from(0, "note", note, Microseconds::max(), true);
        ASSERT_TRUE(all_until([&] { return note.count == 1 && notes == calls; }));
        Ending ending;
        call_from(0, "echo", ending);
        ASSERT_TRUE(all_until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    }
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(target_.context->counts().connections, 1u);
    target_.context->on_peer(nullptr, nullptr);
}

// A peer has five seconds to answer, which pass at once on a simulated clock. The rule is the same on every network.
std::vector<support::NetworkKind> networks_of_the_unanswered() {
    std::vector<support::NetworkKind> networks = support::networks_for_calls();
#ifndef CINNABAR_FULL_TESTS
    std::erase_if(networks, [](support::NetworkKind kind) {
        return kind != support::NetworkKind::sim_friendly && kind != support::NetworkKind::sim_strict &&
               kind != support::NetworkKind::cable;
    });
#endif
    return networks;
}

CINNABAR_OVER_ALL(EvictTest);
CINNABAR_OVER_ALL(AskedToLeaveTest);
INSTANTIATE_TEST_SUITE_P(Over, UnansweredTest, testing::ValuesIn(networks_of_the_unanswered()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });
CINNABAR_OVER_ALL(OneConnectionTest);

}  // namespace
}  // namespace cinnabar::rpc
