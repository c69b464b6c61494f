// SPDX-License-Identifier: BSD-3-Clause
// Closing at any moment: all posted ops complete with `canceled`, and nothing leaks or is accessed afterwards.
#include "contract.hpp"

#include <algorithm>

namespace cinnabar::contract {

class Teardown : public ContractTest {};
CINNABAR_CONTRACT(Teardown);

TEST_P(Teardown, OfAContextThatDidNothing) {
    (void)make_node("a");
    (void)make_node("b");
}

TEST_P(Teardown, CompletesWhatIsPosted) {
    for (unsigned rounds = 0; rounds < 10; ++rounds) {
        Node& a = make_node("a");
        Node& b = make_node("b");
        na::Peer& peer = peer_of(a, b);
        GuardedBuffer here(50'000, 1);
        GuardedBuffer there(50'000);
        auto local = register_memory(a, {here.segment()});
        Lent& remote = lend(b, {there.segment()});
        std::vector<TestOp*> posted;
        for (na::Tag tag = 0; tag < 10; ++tag) {
            posted.push_back(&make_message(peer, tag, 100));
            posted.back()->gives_back = false;
            post(a, *posted.back());
            posted.push_back(&make_rma(na::OpKind::put, peer, *local, remote, 50'000));
            post(a, *posted.back());
        }
        for (unsigned i = 0; i < rounds; ++i) (void)pump_.round();
        a.context->close();
        for (TestOp* op : posted) {
            EXPECT_EQ(op->completions, 1u) << "round " << rounds;
            EXPECT_TRUE(op->result == Errc::canceled || op->result == Errc::ok) << to_string(op->result);
            if (op->op.message) a.port().give_message(*op->op.message);
        }
        EXPECT_EQ(a.context->ops_posted(), 0u);
        here.fill(0);
        local.reset();
        close(a);
        close(b);
    }
}

TEST_P(Teardown, PostsAfterTheCloseAnswerClosed) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    TestOp& op = make_message(peer_of(a, b), 1, 8);
    TestOp& first = make_message(peer_of(a, b), 2, 8);
    Errc again = Errc::ok;
    first.then = [&](TestOp&) { again = a.context->post_owned(op.op); };
    post(a, first);
    a.context->close();
    EXPECT_EQ(first.result, Errc::canceled);
    EXPECT_EQ(again, Errc::closed);
    EXPECT_EQ(post_now(a, op), Errc::closed);
    a.port().give_message(*op.op.message);
}

TEST_P(Teardown, TheOtherSideSeesALoss) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    close(a);
    ASSERT_TRUE(run_until([&] { return b.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(b.receiver.events.back().peer, back);
}

TEST_P(Teardown, InTheMiddleOfAConnect) {
    for (unsigned rounds = 0; rounds < 8; ++rounds) {
        Node& a = make_node("a");
        Node& b = make_node("b");
        TestOp& op = send(a, peer_of(a, b), 1, 8);
        for (unsigned i = 0; i < rounds; ++i) {
            (void)pump_.round();
            if (network_.is_sim()) (void)network_.world().advance();
        }
        close(rounds % 2 ? a : b);
        ASSERT_TRUE(run_until_done(op));
        // unreachable: the context is closed, but its transport still answers.
        EXPECT_TRUE(op.result == Errc::ok || op.result == Errc::canceled || op.result == Errc::peer_lost ||
                    op.result == Errc::refused || op.result == Errc::unreachable)
            << to_string(op.result);
        close(a);
        close(b);
    }
}

TEST_P(Teardown, WithUnreadMessages) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    pump_.remove(*b.context);
    for (na::Tag tag = 0; tag < 30; ++tag) (void)send(a, *there, tag, 1000);
    if (network_.is_sim()) pump_.run_for(Microseconds(1000));
    close(b);
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
}

TEST_P(Teardown, StopAcceptingKeepsConnections) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    Node& late = make_node("late");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    b.port().stop_accepting();
    TestOp& refused = send(late, peer_of(late, b), 9, 8);
    ASSERT_TRUE(run_until_done(refused));
    EXPECT_TRUE(refused.result == Errc::refused || refused.result == Errc::peer_lost ||
                refused.result == Errc::shutting_down || refused.result == Errc::closed)
        << to_string(refused.result);
    (void)send(a, *there, 1, 8);
    (void)send(b, *back, 2, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(1) == 1 && a.receiver.count_tag(2) == 1; }));
    EXPECT_EQ(b.receiver.count_tag(9), 0u);
}

TEST_P(Teardown, AnotherContextOfTheProcessGoesOn) {
    Node& a = make_node("a");
    Node& sibling = make_sibling(a, 9);
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(sibling, b, there, back);
    connect(a, b, there, back);
    close(sibling);
    (void)send(a, *there, 1, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(1) == 1 && b.receiver.count(na::PeerEvent::lost) == 1; }));
}

}  // namespace cinnabar::contract
