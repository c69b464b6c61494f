// SPDX-License-Identifier: BSD-3-Clause
// Both sides dial at the same time: each side sends on the session that it dialled, every message arrives once, and
// neither side sees a loss. A later loss is reported once.
#include "contract.hpp"

#include <algorithm>
#include <set>

namespace cinnabar::contract {

class SimultaneousConnect : public ContractTest {
  protected:
    void connect_both(bool with_incarnation) {
        constexpr na::Tag each = 10;
        for (int round = 0; round < 12; ++round) {
            Node& a = make_node("a" + std::to_string(round));
            Node& b = make_node("b" + std::to_string(round));
            na::Peer& to_b = peer_of(a, b, with_incarnation);
            na::Peer& to_a = peer_of(b, a, with_incarnation);
            // Both dial before either can have seen the other's dial; the delay of the second dial varies.
            std::vector<TestOp*> sent;
            for (na::Tag tag = 0; tag < each; ++tag) sent.push_back(&send(a, to_b, tag, 100));
            for (int i = 0; i < round % 4; ++i) (void)a.context->progress(Microseconds(0));
            for (na::Tag tag = 0; tag < each; ++tag) sent.push_back(&send(b, to_a, tag, 100));
            ASSERT_TRUE(run_until([&] {
                return a.receiver.messages.size() == each && b.receiver.messages.size() == each;
            })) << "round "
                << round << ": " << a.receiver.messages.size() << " and " << b.receiver.messages.size() << " came";
            for (const TestOp* op : sent) {
                ASSERT_TRUE(run_until_done(*op));
                EXPECT_EQ(op->result, Errc::ok) << to_string(op->result);
            }
            for (Node* node : {&a, &b}) {
                std::set<na::Tag> tags;
                for (const auto& got : node->receiver.messages) tags.insert(got.tag);
                EXPECT_EQ(tags.size(), each);
                EXPECT_EQ(node->receiver.count(na::PeerEvent::lost), 0u);
                EXPECT_EQ(node->receiver.count(na::PeerEvent::restarted), 0u);
                if (!network_.one_process()) expect_own_dials(*node, node == &a ? to_b : to_a);
            }
            close(a);
            close(b);
        }
    }
    // No message arrives on the dialled connection, all arrive on the accepted one.
    static void expect_own_dials(Node& node, const na::Peer& dialled) {
        EXPECT_EQ(node.receiver.count(na::PeerEvent::connected), 2u);
        EXPECT_EQ(dialled.epoch(), 1u);
        for (const auto& got : node.receiver.messages) {
            EXPECT_NE(got.source, &dialled);
            EXPECT_TRUE(got.source->addr().is_connection());
        }
    }
};
CINNABAR_CONTRACT(SimultaneousConnect);

TEST_P(SimultaneousConnect, ByAddressAlone) { connect_both(false); }
TEST_P(SimultaneousConnect, ByAddressAndIncarnation) { connect_both(true); }

TEST_P(SimultaneousConnect, AnAnswerUsesTheConnectionOfItsRequest) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& to_b = peer_of(a, b);
    na::Peer& to_a = peer_of(b, a);
    (void)send(a, to_b, 1, 10);
    (void)send(b, to_a, 2, 10);
    ASSERT_TRUE(run_until([&] { return a.receiver.count_tag(2) == 1 && b.receiver.count_tag(1) == 1; }));
    (void)send(b, peer_at(b, b.receiver.messages.front().source->addr()), 3, 10, na::OpKind::send_expected);
    ASSERT_TRUE(run_until([&] { return a.receiver.count_tag(3) == 1; }));
    EXPECT_EQ(a.receiver.messages.back().source, &to_b);
}

TEST_P(SimultaneousConnect, LossOfOneSessionIsReportedOnceAndKeepsTheOther) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("a connection for each dial", !network_.one_process());
    na::Peer& to_b = peer_of(a, b);
    na::Peer& to_a = peer_of(b, a);
    (void)send(a, to_b, 1, 10);
    (void)send(b, to_a, 2, 10);
    ASSERT_TRUE(run_until([&] { return a.receiver.count_tag(2) == 1 && b.receiver.count_tag(1) == 1; }));
    a.port().disconnect(to_b);
    const auto told = [](const Node& node) { return node.receiver.count(na::PeerEvent::lost); };
    ASSERT_TRUE(run_until([&] { return told(a) == 1 && told(b) == 1; }));
    (void)send(b, to_a, 4, 10);
    ASSERT_TRUE(run_until([&] { return a.receiver.count_tag(4) == 1; }));
    EXPECT_EQ(to_a.epoch(), 1u);
    EXPECT_EQ(told(a), 1u);
    EXPECT_EQ(told(b), 1u);
}

TEST_P(SimultaneousConnect, AllWithAll) {
    std::vector<Node*> all;
    for (int i = 0; i < 5; ++i) all.push_back(&make_node("n" + std::to_string(i)));
    for (Node* from : all) {
        for (Node* to : all) {
            if (from != to) (void)send(*from, peer_of(*from, *to), from->receiver.messages.size(), 50);
        }
    }
    ASSERT_TRUE(run_until([&] {
        return std::all_of(all.begin(), all.end(), [](Node* node) { return node->receiver.messages.size() == 4; });
    }));
    for (Node* node : all) EXPECT_EQ(node->receiver.count(na::PeerEvent::lost), 0u);
}

}  // namespace cinnabar::contract
