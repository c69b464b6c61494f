// SPDX-License-Identifier: BSD-3-Clause
// Which peer a connection belongs to. A dialled peer uses only connections that were dialled. An incoming connection is
// always a new peer, whatever identity it claims (decision 0027). False claims need hand-made bytes: see
// tests/unit/tcp, shm and ofi.
#include "contract.hpp"

namespace cinnabar::contract {

class IdentityContract : public ContractTest {
  protected:
    void lose(Node& a, Node& b, na::Peer& there) {
        a.port().disconnect(there);
        ASSERT_TRUE(run_until(
            [&] { return a.receiver.count(na::PeerEvent::lost) == 1 && b.receiver.count(na::PeerEvent::lost) == 1; }));
    }
};
CINNABAR_CONTRACT(IdentityContract);

TEST_P(IdentityContract, ADialledPeerNeverUsesAnIncomingConnection) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("a connection for each dial", !network_.one_process());
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    ASSERT_NO_FATAL_FAILURE(lose(a, b, *there));
    // The same process connects with the same claims. Any process could make them.
    (void)send(b, peer_of(b, a), 70, 8);
    ASSERT_TRUE(run_until([&] { return a.receiver.count_tag(70) == 1; }));
    EXPECT_NE(a.receiver.messages.back().source, there);
    EXPECT_EQ(there->state(), na::PeerState::idle);
    EXPECT_EQ(there->epoch(), 1u);
    // Nor is the incoming connection found by the address with the incarnation that it claims.
    na::Peer& exact = peer_of(a, b, true);
    EXPECT_NE(&exact, a.receiver.messages.back().source);
    TestOp& op = send(a, *there, 71, 8);
    ASSERT_TRUE(run_until([&] { return op.done() && b.receiver.count_tag(71) == 1; }));
    EXPECT_EQ(there->epoch(), 2u) << "it dialled anew";
}

TEST_P(IdentityContract, EachIncomingConnectionHasAnAddressOfItsOwn) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("a connection for each dial", !network_.one_process());
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    const na::Addr first = back->addr();
    EXPECT_TRUE(first.is_connection());
    EXPECT_FALSE(there->addr().is_connection());
    ASSERT_NO_FATAL_FAILURE(lose(a, b, *there));
    (void)send(a, *there, 70, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(70) == 1; }));
    const na::Addr second = b.receiver.messages.back().source->addr();
    EXPECT_TRUE(second.is_connection());
    EXPECT_FALSE(first == second) << "the same process has connected again: another connection";
    // The old address reaches nothing, not even the new connection.
    TestOp& late = send(b, *back, 71, 8);
    ASSERT_TRUE(run_until_done(late));
    EXPECT_EQ(late.result, Errc::unreachable) << to_string(late.result);
    EXPECT_EQ(a.receiver.count_tag(71), 0u);
}

TEST_P(IdentityContract, OnlyAContextThatDialsItselfIsItsOwnPeer) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("a connection for each dial", !network_.one_process());
    (void)send(b, peer_of(b, a), 70, 8);
    (void)send(a, peer_of(a, a), 71, 8);
    ASSERT_TRUE(run_until([&] { return a.receiver.count_tag(70) == 1 && a.receiver.count_tag(71) == 1; }));
    const bool can_tell = a.transport->scheme() != "verbs";
    for (const auto& got : a.receiver.messages) {
        EXPECT_TRUE(got.source->addr().is_connection());
        EXPECT_EQ(got.source->addr().body().own, can_tell && got.tag == 71) << got.tag;
    }
}

}  // namespace cinnabar::contract
