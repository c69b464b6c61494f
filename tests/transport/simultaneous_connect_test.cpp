// SPDX-License-Identifier: BSD-3-Clause
// Both dial at once: everything arrives, once, and nobody sees a loss.
#include "contract.hpp"

#include <algorithm>
#include <set>

namespace cinnabar::contract {

class SimultaneousConnect : public ContractTest {
  protected:
    // Opens nodes under several names, so that each side is the one with the larger incarnation in some rounds.
    void meet(bool with_incarnation) {
        constexpr na::Tag each = 10;
        for (int round = 0; round < 12; ++round) {
            Node& a = make_node("a" + std::to_string(round));
            Node& b = make_node("b" + std::to_string(round));
            na::Peer& to_b = peer_of(a, b, with_incarnation);
            na::Peer& to_a = peer_of(b, a, with_incarnation);
            // Both have dialled before either can hear of the other; the second a little later each round.
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
            }
            // One connection for the pair.
            EXPECT_EQ(a.receiver.count(na::PeerEvent::connected), 1u) << "round " << round;
            EXPECT_EQ(b.receiver.count(na::PeerEvent::connected), 1u) << "round " << round;
            for (const auto& got : a.receiver.messages) EXPECT_EQ(got.source, &to_b);
            for (const auto& got : b.receiver.messages) EXPECT_EQ(got.source, &to_a);
            close(a);
            close(b);
        }
    }
};
CINNABAR_CONTRACT(SimultaneousConnect);

TEST_P(SimultaneousConnect, ByAddressAlone) { meet(false); }
TEST_P(SimultaneousConnect, ByAddressAndIncarnation) { meet(true); }

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
