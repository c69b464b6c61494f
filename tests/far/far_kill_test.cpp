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
