// SPDX-License-Identifier: BSD-3-Clause
// Addresses: several names of one peer, unreachable addresses, and addresses of processes that do not listen.
#include "contract.hpp"

namespace cinnabar::contract {

class AddrContract : public ContractTest {};
CINNABAR_CONTRACT(AddrContract);

TEST_P(AddrContract, SurvivesTextAndBytes) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    const na::Addr addr = b.addr();
    EXPECT_EQ(na::Addr::parse(addr.to_string()).value(), addr);
    std::vector<std::byte> bytes(addr.encoded_bytes());
    ByteWriter writer(bytes);
    addr.encode(writer);
    ASSERT_TRUE(writer.ok());
    ByteReader reader(bytes);
    const na::Addr decoded = na::Addr::decode(reader).value();
    EXPECT_EQ(decoded, addr);
    (void)send(a, peer_at(a, decoded), 1, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 1; }));
}

TEST_P(AddrContract, TheSameAddressIsTheSamePeer) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& once = peer_of(a, b);
    EXPECT_EQ(&once, &peer_of(a, b));
    EXPECT_EQ(&once, &peer_at(a, na::Addr::parse(b.addr().to_string()).value()));
    (void)send(a, once, 1, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 1; }));
    EXPECT_EQ(&once, &peer_of(a, b));
}

TEST_P(AddrContract, InParallelItIsReachedByAnotherConnection) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& once = peer_of(a, b);
    na::Peer& again = peer_at(a, b.addr().in_parallel(1));
    (void)send(a, once, 1, 8);
    (void)send(a, again, 2, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 2; }));
    if (&once == &again) return;  // the transport has no connections, or one for all
    EXPECT_NE(b.receiver.messages[0].source, b.receiver.messages[1].source);
    EXPECT_EQ(&again, &peer_at(a, b.addr().in_parallel(1)));
}

TEST_P(AddrContract, OfASourceCanBeUsedForAReply) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    (void)send(a, peer_of(a, b), 1, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 1; }));
    na::Peer& source = peer_at(b, b.receiver.messages.front().source->addr());
    EXPECT_EQ(&source, b.receiver.messages.front().source);
    (void)send(b, source, 2, 8);
    ASSERT_TRUE(run_until([&] { return a.receiver.messages.size() == 1; }));
}

TEST_P(AddrContract, OfAProcessThatDoesNotListenIsUselessToOthers) {
    Node& b = make_node("b");
    CINNABAR_NEEDS("processes that do not listen", !network_.one_process());
    na::TransportOptions silent;
    silent.listen = false;
    Node& a = make_node("a", silent);
    Node& third = make_node("third");
    EXPECT_TRUE(a.transport->endpoints().empty());
    (void)send(a, peer_of(a, b), 1, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 1; }));
    na::Peer& source = *b.receiver.messages.front().source;
    EXPECT_FALSE(source.addr().listens());
    EXPECT_EQ(third.context->peer(source.addr()).code(), Errc::unreachable);
    // Without its connection the peer cannot be reached.
    source.acquire();
    held_peers_.emplace_back(&b, &source);
    kill(a);
    ASSERT_TRUE(run_until([&] { return b.receiver.count(na::PeerEvent::lost) == 1; }));
    TestOp& late = make_message(source, 2, 8);
    const Errc taken = post_now(b, late);
    if (taken == Errc::ok) {
        ASSERT_TRUE(run_until_done(late));
        EXPECT_TRUE(late.result == Errc::unreachable || late.result == Errc::peer_lost) << to_string(late.result);
    } else {
        EXPECT_EQ(taken, Errc::unreachable);
        b.port().give_message(*late.op.message);
    }
}

TEST_P(AddrContract, OfAnotherTransportIsUnreachable) {
    Node& a = make_node("a");
    const na::Addr elsewhere = na::Addr::parse("unknown://somewhere:1").value();
    EXPECT_EQ(a.context->route(elsewhere), nullptr);
    EXPECT_EQ(a.context->peer(elsewhere).code(), Errc::unreachable);
    EXPECT_EQ(a.context->peer(na::Addr()).code(), Errc::invalid_argument);
    EXPECT_NE(a.context->route(a.addr()), nullptr);
}

TEST_P(AddrContract, WithAnotherIncarnationIsAnotherPeer) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    const na::Addr stale =
        na::Addr::make(b.transport->endpoints(), b.context->options().id, b.transport->incarnation() ^ 0x55);
    auto found = a.context->peer(stale);
    if (!found) {
        EXPECT_EQ(found.code(), Errc::unreachable);
        return;
    }
    (*found)->acquire();
    held_peers_.emplace_back(&a, *found);
    TestOp& op = send(a, **found, 1, 8);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::peer_lost) << to_string(op.result);
    EXPECT_TRUE(b.receiver.messages.empty());
}

TEST_P(AddrContract, WithoutAListenerIsRefusedAtOnce) {
    Node& a = make_node("a");
    TestOp& op = send(a, peer_at(a, na::Addr::parse(network_.nobody()).value()), 1, 8);
    const auto started = std::chrono::steady_clock::now();
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::refused) << to_string(op.result);
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
    // The event is reported, too, since the layer above may hold back calls for that peer.
    ASSERT_TRUE(run_until([&] { return !a.receiver.events.empty(); }));
    EXPECT_EQ(a.receiver.events.size(), 1u);
    EXPECT_EQ(a.receiver.events.front().event, na::PeerEvent::lost);
    EXPECT_EQ(a.receiver.events.front().why, Errc::refused);
}

TEST_P(AddrContract, AContextThatIsNotOpenIsNotReached) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    TestOp& op = send(a, peer_at(a, b.addr().with_context(40)), 1, 8);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_TRUE(op.result == Errc::refused || op.result == Errc::unreachable) << to_string(op.result);
}

}  // namespace cinnabar::contract
