// SPDX-License-Identifier: BSD-3-Clause
// After a loss the next operation dials again. A restarted process is distinguished from the one before.
#include "contract.hpp"

namespace cinnabar::contract {

class Reconnect : public ContractTest {};
CINNABAR_CONTRACT(Reconnect);

TEST_P(Reconnect, TheNextOpDialsAgain) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    for (std::uint32_t round = 1; round <= 5; ++round) {
        Node& breaks = round % 2 ? a : b;
        breaks.port().disconnect(round % 2 ? *there : *back);
        ASSERT_TRUE(run_until([&] {
            return a.receiver.count(na::PeerEvent::lost) == round && b.receiver.count(na::PeerEvent::lost) == round;
        })) << round;
        TestOp& op = send(a, *there, round, 64);
        ASSERT_TRUE(run_until([&] { return op.done() && b.receiver.count_tag(round) == 1; })) << round;
        EXPECT_EQ(op.result, Errc::ok);
        EXPECT_EQ(there->epoch(), round + 1);
        EXPECT_EQ(a.receiver.count(na::PeerEvent::connected), round + 1);
        EXPECT_EQ(b.receiver.count(na::PeerEvent::connected), round + 1);
        EXPECT_EQ(a.receiver.count(na::PeerEvent::restarted), 0u);
        back = b.receiver.messages.back().source;
        back->acquire();
        held_peers_.emplace_back(&b, back);
    }
}

TEST_P(Reconnect, MessagesOfTheOldConnectionDoNotComeOnTheNew) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    // While connections break and are dialled again, each message arrives at most once.
    na::Tag tag = 100;
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 5; ++i) (void)send(a, *there, tag++, 32);
        for (int i = 0; i < round % 4; ++i) (void)pump_.round();
        a.port().disconnect(*there);
    }
    // Messages that are posted before the last loss is reported may be lost.
    ASSERT_TRUE(run_until([&] { return a.context->ops_posted() == 0 && there->state() == na::PeerState::idle; }));
    for (int i = 0; i < 20; ++i) (void)pump_.round();
    TestOp& last = send(a, *there, 1, 8);
    ASSERT_TRUE(run_until([&] { return last.done() && b.receiver.count_tag(1) == 1; }));
    for (na::Tag each = 100; each < tag; ++each) EXPECT_LE(b.receiver.count_tag(each), 1u) << each;
}

TEST_P(Reconnect, ARestartedProcessIsDistinguished) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("processes that restart at their address", network_.is_sim());
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    const na::Incarnation before = there->incarnation();
    kill(b);
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
    Node& again = make_node("b");
    TestOp& op = send(a, *there, 7, 8);
    ASSERT_TRUE(run_until([&] { return op.done() && again.receiver.count_tag(7) == 1; }));
    EXPECT_EQ(a.receiver.count(na::PeerEvent::restarted), 1u);
    EXPECT_NE(there->incarnation(), before);
    EXPECT_EQ(there->incarnation(), again.transport->incarnation());
    EXPECT_EQ(there->epoch(), 2u);
}

TEST_P(Reconnect, AnAddressWithAnIncarnationDoesNotReachTheNextProcess) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("processes that restart at their address", network_.is_sim());
    Node& b = make_node("b");
    na::Peer& exact = peer_of(a, b, true);
    TestOp& first = send(a, exact, 1, 8);
    ASSERT_TRUE(run_until_done(first));
    kill(b);
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
    Node& again = make_node("b");
    TestOp& op = send(a, exact, 7, 8);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::peer_lost);
    EXPECT_TRUE(again.receiver.messages.empty());
}

TEST_P(Reconnect, AfterARefusalTheNextOpDialsAgain) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("processes that start later", network_.is_sim());
    na::Peer& peer = peer_at(a, na::Addr::parse("sim://late").value());
    TestOp& early = send(a, peer, 1, 8);
    ASSERT_TRUE(run_until_done(early));
    EXPECT_EQ(early.result, Errc::refused);
    Node& late = make_node("late");
    TestOp& op = send(a, peer, 2, 8);
    ASSERT_TRUE(run_until([&] { return op.done() && late.receiver.count_tag(2) == 1; }));
}

TEST_P(Reconnect, ADialWithoutAnAnswerTimesOut) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("partitions", network_.is_sim());
    (void)make_node("b");
    network_.world().partition("a", "b");
    TestOp& op = send(a, peer_at(a, na::Addr::parse("sim://b").value()), 1, 8);
    const TimeUs asked = network_.world().now_us();
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::timed_out);
    EXPECT_GE(network_.world().now_us() - asked, 5'000'000u);
}

}  // namespace cinnabar::contract
