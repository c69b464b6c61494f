// SPDX-License-Identifier: BSD-3-Clause
// Unexpected messages of any size and number arrive complete, once, and from the right source.
#include "contract.hpp"

#include <cinnabar/base/clock.hpp>

#include <set>

namespace cinnabar::contract {

class Unexpected : public ContractTest {};
CINNABAR_CONTRACT(Unexpected);

TEST_P(Unexpected, ArrivesWithItsBytesTagAndSource) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    TestOp& op = send(a, peer_of(a, b), 0x1234'5678'9abc'def0u, 100);
    ASSERT_TRUE(run_until([&] { return op.done() && !b.receiver.messages.empty(); }));
    EXPECT_EQ(op.result, Errc::ok);
    const auto& got = b.receiver.messages.front();
    EXPECT_FALSE(got.expected);
    EXPECT_EQ(got.bytes.size(), 100u);
    EXPECT_TRUE(support::holds_pattern(got.bytes, 0x1234'5678'9abc'def0u));
    EXPECT_EQ(got.tag, 0x1234'5678'9abc'def0u);
    ASSERT_NE(got.source, nullptr);
    EXPECT_EQ(got.source->incarnation(), a.transport->incarnation());
    EXPECT_EQ(got.source->addr().body().context, a.context->options().id);
}

// A program may pause for longer than connect_timeout before it dials: the timeout counts from the start of the dial.
TEST_P(Unexpected, AfterAPauseLongerThanTheConnectTimeout) {
    constexpr TimeUs allowed_us = 700'000;
    na::TransportOptions hasty = listening();
    hasty.connect_timeout = Microseconds(allowed_us);
    Node& a = make_node("a", hasty);
    Node& b = make_node("b", hasty);
    const TimeUs until = steady_clock().now_us() + allowed_us + 50'000;
    while (!network_.is_sim() && steady_clock().now_us() < until) {
    }
    TestOp& op = send(a, peer_of(a, b), 1, 8);
    ASSERT_TRUE(run_until_done(op));
    EXPECT_EQ(op.result, Errc::ok) << to_string(op.result);
}

TEST_P(Unexpected, BytesAreAligned) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    std::size_t misaligned = 0;
    b.receiver.on_arrival = [&](na::Arrival& arrival) {
        misaligned += reinterpret_cast<std::uintptr_t>(arrival.bytes.data()) % 8 != 0;
    };
    for (na::Tag tag = 1; tag <= 33; ++tag) {
        TestOp& op = make_message(peer, tag, tag);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(op.op.message->payload) % 8, 0u);
        post(a, op);
    }
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 33; }));
    EXPECT_EQ(misaligned, 0u);
}

TEST_P(Unexpected, EverySizeUpToTheLimit) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    const std::size_t most = a.transport->limits().message_bytes_max;
    const std::vector<std::size_t> sizes{0, 1, 7, 8, 9, 63, 64, 65, 1000, 4095, 4096, 4097, most - 1, most};
    for (const std::size_t size : sizes) {
        const std::size_t before = b.receiver.messages.size();
        TestOp& op = send(a, peer, size + 1, size);
        ASSERT_TRUE(run_until([&] { return op.done() && b.receiver.messages.size() == before + 1; })) << size;
        EXPECT_EQ(op.result, Errc::ok);
        EXPECT_EQ(b.receiver.messages.back().bytes.size(), size);
        EXPECT_TRUE(support::holds_pattern(b.receiver.messages.back().bytes, size + 1));
    }
}

TEST_P(Unexpected, ManyArriveOnceAndInOrderIfPromised) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    constexpr std::size_t count = 600;
    for (na::Tag tag = 0; tag < count; ++tag) (void)send(a, peer, tag, tag % 300);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() >= count; }));
    std::set<na::Tag> tags;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& got = b.receiver.messages[i];
        if (caps().ordered) {
            ASSERT_EQ(got.tag, i);
        }
        EXPECT_EQ(got.bytes.size(), got.tag % 300);
        EXPECT_TRUE(support::holds_pattern(got.bytes, got.tag));
        tags.insert(got.tag);
    }
    EXPECT_EQ(tags.size(), count);
    EXPECT_EQ(b.receiver.messages.size(), count);
}

TEST_P(Unexpected, BothWaysOverOneConnection) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    for (na::Tag tag = 0; tag < 50; ++tag) {
        (void)send(a, *there, tag, 40);
        (void)send(b, *back, tag, 40);
    }
    ASSERT_TRUE(run_until([&] { return a.receiver.messages.size() == 50 && b.receiver.messages.size() == 50; }));
    EXPECT_EQ(a.receiver.messages.front().source, there);
    EXPECT_EQ(b.receiver.messages.front().source, back);
    EXPECT_EQ(a.receiver.count(na::PeerEvent::connected), 1u);
    EXPECT_EQ(b.receiver.count(na::PeerEvent::connected), 1u);
    EXPECT_EQ(a.receiver.count(na::PeerEvent::lost) + b.receiver.count(na::PeerEvent::lost), 0u);
}

TEST_P(Unexpected, ToOneself) {
    Node& a = make_node("a");
    TestOp& op = send(a, peer_of(a, a), 5, 50);
    ASSERT_TRUE(run_until([&] { return op.done() && !a.receiver.messages.empty(); }));
    EXPECT_EQ(op.result, Errc::ok);
    ASSERT_EQ(a.receiver.messages.size(), 1u);
    EXPECT_TRUE(support::holds_pattern(a.receiver.messages.front().bytes, 5));
    // The source of the message is this context itself.
    TestOp& reply = send(a, *a.receiver.messages.front().source, 6, 50, na::OpKind::send_expected);
    ASSERT_TRUE(run_until([&] { return reply.done() && a.receiver.messages.size() == 2; }));
    EXPECT_TRUE(a.receiver.messages.back().expected);
}

TEST_P(Unexpected, BetweenTheContextsOfOneProcess) {
    Node& a = make_node("a");
    Node& second = make_sibling(a, 7);
    TestOp& op = send(a, peer_of(a, second), 5, 50);
    ASSERT_TRUE(run_until([&] { return op.done() && !second.receiver.messages.empty(); }));
    EXPECT_TRUE(a.receiver.messages.empty());
    EXPECT_EQ(second.receiver.messages.front().source->addr().body().context, 0);
}

TEST_P(Unexpected, FromManySenders) {
    Node& hub = make_node("hub");
    std::vector<Node*> spokes;
    for (int i = 0; i < 8; ++i) spokes.push_back(&make_node("spoke" + std::to_string(i)));
    for (Node* spoke : spokes) {
        na::Peer& peer = peer_of(*spoke, hub);
        for (na::Tag tag = 0; tag < 20; ++tag) (void)send(*spoke, peer, tag, 64);
    }
    ASSERT_TRUE(run_until([&] { return hub.receiver.messages.size() == 160; }));
    std::set<na::Peer*> sources;
    for (const auto& got : hub.receiver.messages) sources.insert(got.source);
    EXPECT_EQ(sources.size(), 8u);
    EXPECT_EQ(hub.receiver.count(na::PeerEvent::connected), 8u);
}

TEST_P(Unexpected, TheBufferMayBeReusedAfterCompletion) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    // One op, posted again from its own completion with other bytes in the same buffer.
    TestOp& op = make_message(peer, 0, 500);
    op.gives_back = false;
    constexpr na::Tag rounds = 40;
    op.then = [&](TestOp& self) {
        if (self.op.tag + 1 == rounds) return;
        ++self.op.tag;
        support::fill_pattern(self.op.message->bytes().first(500), self.op.tag);
        EXPECT_EQ(a.context->post_owned(self.op), Errc::ok);
    };
    post(a, op);
    ASSERT_TRUE(run_until([&] { return op.completions == rounds && b.receiver.messages.size() == rounds; }));
    for (const auto& got : b.receiver.messages) EXPECT_TRUE(support::holds_pattern(got.bytes, got.tag));
    op.completions = 1;
    a.port().give_message(*op.op.message);
}

}  // namespace cinnabar::contract
