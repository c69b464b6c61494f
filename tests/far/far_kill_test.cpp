// SPDX-License-Identifier: BSD-3-Clause
// The other process (far_peer.cpp) is killed during a transfer of far memory: the copy in progress ends first, and
// nothing is copied afterwards.
#include "far_fixture.hpp"
#include "other_process.hpp"
#include "splice_faults.hpp"

#include <cinnabar/cinnabar.hpp>

#include <future>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using test::MadeUpFar;
using test::OtherProcess;

constexpr Rpc<std::uint64_t(Bulk)> take_it{"take_it"};
constexpr std::size_t far_bytes = 4 << 20;

// Waits until nobody accesses memory that a call had lent.
bool await_fence(const Region& lent) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (lent.quarantined() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return !lent.quarantined();
}

TEST(FarKill, OfThePullerEndsTheCall) {
    OtherProcess other(CINNABAR_FAR_PEER, "pull");
    const Node node = Node::open("tcp://").value();
    const auto far = std::make_shared<MadeUpFar>(far_bytes);
    far->take_long(50ms);
    const Addr to = node.lookup(other.line()).value();
    auto pending = node.call(take_it, to, Region::of_far(far, Access::read).value(), 60s).future();
    far->await_begin();
    other.kill();
    EXPECT_EQ(pending.get().code(), Errc::peer_lost);
    EXPECT_EQ(far->ended, far->entered);
}

TEST(FarKill, OfThePullerOfAFileThatIsBeingSent) {
    test::SpliceFaults faults;
    OtherProcess other(CINNABAR_FAR_PEER, "pull");
    const Node node = Node::open("tcp://").value();
    const test::PatternFile file(far_bytes);
    const Addr to = node.lookup(other.line()).value();
    faults.no_room = true;
    auto pending = node.call(take_it, to, file.region(0, far_bytes, Access::read), 60s).future();
    while (faults.sends == 0) std::this_thread::yield();
    other.kill();
    faults.no_room = false;
    EXPECT_EQ(pending.get().code(), Errc::peer_lost);
}

// A stop is not seen as the end of the connection, so the caller ends the call.
TEST(FarKill, AStoppedPullerOfAFileThatIsBeingSentDoesNotHoldTheCallUp) {
    test::SpliceFaults faults;
    OtherProcess other(CINNABAR_FAR_PEER, "pull");
    const Node node = Node::open("tcp://").value();
    const test::PatternFile file(far_bytes);
    const Region lent = file.region(0, far_bytes, Access::read);
    const Addr to = node.lookup(other.line()).value();
    faults.no_room = true;
    auto pending = node.call(take_it, to, lent, 60s).future();
    while (faults.sends == 0) std::this_thread::yield();
    other.stop();
    faults.no_room = false;
    pending.cancel();
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    other.go_on();
    EXPECT_TRUE(await_fence(lent));
    EXPECT_EQ(node.call(take_it, to, lent, 60s).wait().value_or(0), far_bytes);
}

TEST(FarKill, AStoppedPullerOfFarMemoryDoesNotHoldTheCallUp) {
    OtherProcess other(CINNABAR_FAR_PEER, "pull");
    const Node node = Node::open("tcp://").value();
    const auto far = std::make_shared<MadeUpFar>(far_bytes);
    far->take_long(20ms);
    const Region lent = Region::of_far(far, Access::read).value();
    const Addr to = node.lookup(other.line()).value();
    auto pending = node.call(take_it, to, lent, 60s).future();
    far->await_begin();
    other.stop();
    pending.cancel();
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    other.go_on();
    EXPECT_TRUE(await_fence(lent));
    EXPECT_EQ(far->ended, far->entered);
    EXPECT_EQ(node.call(take_it, to, lent, 60s).wait().value_or(0), far_bytes);
}

TEST(FarKill, OfTheLenderEndsThePullAndNothingIsStoredAfterIt) {
    const Node node = Node::listen("tcp://127.0.0.1:0").value();
    const auto far = std::make_shared<MadeUpFar>(far_bytes);
    far->take_long(50ms);
    std::promise<std::pair<Errc, bool>> ended;  // also whether no copy was in progress then
    const auto take = [&](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        const Region local = Region::of_far(far, Access::write).value();
        const auto moved = co_await request->pull(local);
        ended.set_value({moved.code(), far->ended == far->entered});
        co_return moved;
    };
    ASSERT_TRUE(node.serve(take_it, take).ok());
    OtherProcess other(CINNABAR_FAR_PEER, "lend", node.address());
    far->await_begin();
    other.kill();
    const auto [code, quiet] = ended.get_future().get();
    EXPECT_TRUE(code == Errc::peer_lost || code == Errc::canceled) << to_string(code);
    EXPECT_TRUE(quiet);
}

}  // namespace
}  // namespace cinnabar
