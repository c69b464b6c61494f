// SPDX-License-Identifier: BSD-3-Clause
// Expected messages are delivered as expected, with the right tag.
#include "contract.hpp"

namespace cinnabar::contract {

class Expected : public ContractTest {};
CINNABAR_CONTRACT(Expected);

TEST_P(Expected, IsNotDeliveredAsUnexpected) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    (void)send(a, peer, 1, 10, na::OpKind::send_unexpected);
    (void)send(a, peer, 2, 20, na::OpKind::send_expected);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 2; }));
    for (const auto& got : b.receiver.messages) {
        EXPECT_EQ(got.expected, got.tag == 2);
        EXPECT_EQ(got.bytes.size(), got.tag * 10);
    }
}

TEST_P(Expected, AnswersARequestWithItsTag) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    b.receiver.record = false;
    std::vector<TestOp*> replies;
    b.receiver.on_arrival = [&](na::Arrival& arrival) {
        TestOp& reply = make_message(*arrival.source, arrival.tag, arrival.bytes.size(), na::OpKind::send_expected);
        replies.push_back(&reply);
        EXPECT_EQ(b.context->post_owned(reply.op), Errc::ok);  // from inside the arrival
    };
    for (na::Tag tag = 100; tag < 140; ++tag) (void)send(a, peer, tag, tag);
    ASSERT_TRUE(run_until([&] { return a.receiver.messages.size() == 40; }));
    for (const auto& got : a.receiver.messages) {
        EXPECT_TRUE(got.expected);
        EXPECT_EQ(got.source, &peer);
        EXPECT_EQ(got.bytes.size(), got.tag);
        EXPECT_TRUE(support::holds_pattern(got.bytes, got.tag));
    }
}

TEST_P(Expected, TheSmallestAndTheLargestTag) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    const na::Tag most = ~na::Tag{0};
    (void)send(a, peer, 0, 8, na::OpKind::send_expected);
    (void)send(a, peer, most, 8, na::OpKind::send_expected);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 2; }));
    EXPECT_EQ(b.receiver.count_tag(0), 1u);
    EXPECT_EQ(b.receiver.count_tag(most), 1u);
}

}  // namespace cinnabar::contract
