// SPDX-License-Identifier: BSD-3-Clause
// The loss of a peer is reported once and ends all ops that wait for the peer.
#include "contract.hpp"

#include <algorithm>

namespace cinnabar::contract {

class PeerLoss : public ContractTest {};
CINNABAR_CONTRACT(PeerLoss);

TEST_P(PeerLoss, IsReportedOnceWhenTheProcessDies) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    kill(b);
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(a.receiver.events.back().peer, there);
    EXPECT_EQ(a.receiver.events.back().why, Errc::peer_lost);
    EXPECT_EQ(there->state(), na::PeerState::idle);
    for (int i = 0; i < 50; ++i) (void)pump_.round();
    EXPECT_EQ(a.receiver.count(na::PeerEvent::lost), 1u);
}

TEST_P(PeerLoss, EndsARunningTransfer) {
    Node& a = make_node("a");
    const std::size_t bytes = large_rma();
    for (unsigned rounds = 0; rounds < 8; ++rounds) {
        Node& b = make_node("b");
        na::Peer* there = nullptr;
        na::Peer* back = nullptr;
        connect(a, b, there, back);
        GuardedBuffer here(bytes, 1);
        GuardedBuffer target(bytes);
        auto local = register_memory(a, {here.segment()});
        Lent& remote = lend(b, {target.segment()});
        TestOp& put = make_rma(na::OpKind::put, *there, *local, remote, bytes);
        TestOp& get = make_rma(na::OpKind::get, *there, *local, remote, bytes);
        post(a, put);
        post(a, get);
        TestOp& message = send(a, *there, 5, 100);
        for (unsigned i = 0; i < rounds; ++i) (void)pump_.round();
        kill(b);
        target.fill(9);
        ASSERT_TRUE(run_until([&] { return put.done() && get.done() && message.done(); })) << rounds;
        for (const TestOp* op : {&put, &get, &message}) {
            EXPECT_EQ(op->completions, 1u);
            EXPECT_TRUE(op->result == Errc::ok || op->result == Errc::peer_lost || op->result == Errc::permission)
                << to_string(op->result);
        }
        EXPECT_TRUE(target.holds(9)) << "a dead process was written to";
        here.fill(3);
        if (network_.is_sim()) pump_.run_for(Microseconds(5000));
        EXPECT_TRUE(here.holds(3)) << "written after the completion";
        ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == rounds + 1; }));
    }
}

TEST_P(PeerLoss, DisconnectIsALossForBoth) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    a.port().disconnect(*there);
    ASSERT_TRUE(run_until(
        [&] { return a.receiver.count(na::PeerEvent::lost) == 1 && b.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(there->state(), na::PeerState::idle);
    EXPECT_EQ(back->state(), na::PeerState::idle);
    EXPECT_EQ(there->epoch(), 1u);
}

TEST_P(PeerLoss, DisconnectWhileConnecting) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    TestOp& op = send(a, peer, 1, 8);
    a.port().disconnect(peer);
    EXPECT_EQ(op.completions, 0u) << "a completion from inside the call";
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::peer_lost) << to_string(op.result);
    // The peer can be reached again after the event.
    TestOp& second = send(a, peer, 2, 8);
    ASSERT_TRUE(run_until([&] { return second.done() && b.receiver.count_tag(2) == 1; }));
}

TEST_P(PeerLoss, DisconnectOfAnIdlePeerDoesNothing) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    a.port().disconnect(peer_of(a, b));
    for (int i = 0; i < 20; ++i) (void)pump_.round();
    EXPECT_TRUE(a.receiver.events.empty());
}

TEST_P(PeerLoss, OfOnePeerDoesNotAffectOthers) {
    Node& hub = make_node("hub");
    Node& one = make_node("one");
    Node& two = make_node("two");
    na::Peer* to_one = nullptr;
    na::Peer* to_two = nullptr;
    na::Peer* back = nullptr;
    connect(hub, one, to_one, back);
    connect(hub, two, to_two, back);
    kill(one);
    ASSERT_TRUE(run_until([&] { return hub.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(to_two->state(), na::PeerState::connected);
    (void)send(hub, *to_two, 3, 8);
    ASSERT_TRUE(run_until([&] { return two.receiver.count_tag(3) == 1; }));
    EXPECT_EQ(hub.receiver.count(na::PeerEvent::lost), 1u);
}

TEST_P(PeerLoss, InsideTheEventNewOpsMayBePosted) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    TestOp& retry = make_message(*there, 9, 8);
    a.receiver.on_event = [&](na::Peer& peer, na::PeerEvent event, Errc) {
        if (event != na::PeerEvent::lost) return;
        EXPECT_EQ(&peer, there);
        EXPECT_EQ(a.context->post_owned(retry.op), Errc::ok);
    };
    b.port().disconnect(*back);
    ASSERT_TRUE(run_until([&] { return retry.done() && b.receiver.count_tag(9) == 1; }));
    EXPECT_EQ(retry.result, Errc::ok);
}

TEST_P(PeerLoss, APartitionIsNoticedByKeepalive) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("partitions", network_.is_sim());
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    network_.world().partition("a", "b");
    GuardedBuffer here(8);
    Lent& remote = lend(b, {here.segment()});
    auto local = register_memory(a, {here.segment()});
    TestOp& op = make_rma(na::OpKind::put, *there, *local, remote, 8);
    post(a, op);
    const TimeUs cut = network_.world().now_us();
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1 && op.done(); }));
    EXPECT_EQ(op.result, Errc::peer_lost);
    EXPECT_LE(network_.world().now_us() - cut, 10'100'000u);
    network_.world().heal("a", "b");
    TestOp& after = send(a, *there, 4, 8);
    ASSERT_TRUE(run_until([&] { return after.done() && b.receiver.count_tag(4) == 1; }));
}

TEST_P(PeerLoss, AShortPartitionOnlyDelays) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("partitions", network_.is_sim());
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    network_.world().partition("b", "a");
    for (na::Tag tag = 0; tag < 20; ++tag) (void)send(a, *there, tag, 8);
    pump_.run_for(Microseconds(2'000'000));
    EXPECT_TRUE(b.receiver.messages.empty());
    network_.world().heal("a", "b");
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 20; }));
    if (caps().ordered) {
        for (na::Tag tag = 0; tag < 20; ++tag) EXPECT_EQ(b.receiver.messages[tag].tag, tag);
    }
    EXPECT_EQ(a.receiver.count(na::PeerEvent::lost), 0u);
}

}  // namespace cinnabar::contract
