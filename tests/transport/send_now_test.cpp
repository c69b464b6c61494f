// SPDX-License-Identifier: BSD-3-Clause
// send_now() sends a message without an op, after all earlier messages, or takes nothing.
#include "contract.hpp"

#include <algorithm>

namespace cinnabar::contract {
namespace {

// Sizes that transports may treat differently. Some transports do not take the largest.
constexpr std::array<std::size_t, 5> sizes{0, 8, 61, 1000, 3000};

std::vector<std::byte> message_of(na::Tag tag) {
    std::vector<std::byte> bytes;
    bytes.reserve(1);  // data() is not null even if the message is empty
    bytes.resize(sizes[tag % sizes.size()]);
    support::fill_pattern(bytes, tag);
    return bytes;
}

}  // namespace

class SendNow : public ContractTest {
  protected:
    // Lists the transports by name, so that the test fails if one loses the capability.
    [[nodiscard]] static bool has_short_way(const Node& node) {
        const std::string_view scheme = node.transport->scheme();
        return scheme == "self" || scheme == "tcp" || scheme == "tcps" || scheme == "sealed_tcp" ||
               scheme == "verbss" || scheme == "shm" ||
               (scheme.starts_with("ofi") && GetParam() != NetworkKind::ofi_udp_rxd) ||
               GetParam() == NetworkKind::sim_friendly;
    }
    [[nodiscard]] static bool send_now(Node& from, na::Peer& to, na::Tag tag,
                                       na::OpKind kind = na::OpKind::send_unexpected) {
        std::vector<std::byte> bytes = message_of(tag);
        const bool taken = from.context->send_now(to, kind, tag, bytes);
        std::fill(bytes.begin(), bytes.end(), std::byte{0xee});  // the caller may reuse them
        return taken;
    }
};
CINNABAR_CONTRACT(SendNow);

TEST_P(SendNow, MessagesThatAreNotTakenArePostedAndArriveInOrder) {
    constexpr na::Tag messages = 4000;
    na::TransportOptions options = listening();
    if (network_.one_process()) options.receive_slots = 2 * messages;  // posts beyond them return `again`
    Node& a = make_node("a", options);
    Node& b = make_node("b", options);
    CINNABAR_NEEDS("flow control of its own", !caps().counted_slots);
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    b.receiver.messages.clear();
    pump_.remove(*b.context);  // until queues, rings and sockets are full
    na::Tag taken = 0;
    for (na::Tag tag = 0; tag < messages; ++tag) {
        const bool by_op = tag % 97 == 13 || !send_now(a, *there, tag);
        if (by_op) {
            (void)send(a, *there, tag, sizes[tag % sizes.size()]);
        } else {
            ++taken;
        }
        if (tag % 64 == 0) (void)a.context->progress(Microseconds(0));
    }
    pump_.add(*b.context);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == messages; }));
    for (na::Tag i = 0; i < messages; ++i) {
        const auto& got = b.receiver.messages[i];
        if (caps().ordered) {
            ASSERT_EQ(got.tag, i);
        }
        ASSERT_EQ(got.bytes, message_of(got.tag));
    }
    EXPECT_TRUE(run_until([&] { return !a.port().holds_unsent(); }));
    if (has_short_way(a)) {
        EXPECT_GT(taken, 2u) << "nothing goes the short way";
    } else {
        EXPECT_EQ(taken, 0u) << "it has the short way now: say so above";
    }
}

TEST_P(SendNow, ExpectedMessagesAreMatchedByTag) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    // A libfabric provider may refuse the first message.
    CINNABAR_NEEDS("a short way that takes each message",
                   has_short_way(a) && !a.transport->scheme().starts_with("ofi"));
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    b.receiver.messages.clear();
    ASSERT_TRUE(send_now(a, *there, 7, na::OpKind::send_expected));
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 1; }));
    EXPECT_TRUE(b.receiver.messages.front().expected);
    EXPECT_EQ(b.receiver.messages.front().bytes, message_of(7));
}

// Messages that wait for the next flush are dropped with the connection; the others have reached the peer. A network
// below sealed messages gives those back that it held only after the loss was reported.
TEST_P(SendNow, WhatHasNotLeftIsDroppedWithThePeer) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    for (na::Tag tag = 1; tag <= 8; ++tag) (void)send_now(a, *there, tag);
    close(b);
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_TRUE(run_until([&] { return !a.port().holds_unsent(); }));
    EXPECT_FALSE(send_now(a, *there, 9));
}

TEST_P(SendNow, TakesNothingWithoutAConnection) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& stranger = peer_of(a, b);
    EXPECT_TRUE(stranger.state() == na::PeerState::connected || !send_now(a, stranger, 1));
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    a.port().disconnect(*there);
    EXPECT_FALSE(send_now(a, *there, 2));
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(b.receiver.count_tag(1) + b.receiver.count_tag(2), 0u);
}

TEST_P(SendNow, TakesNothingOverThePeersLimit) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    const std::vector<std::byte> large(there->message_bytes_max() + 1);
    EXPECT_FALSE(a.context->send_now(*there, na::OpKind::send_unexpected, 3, large));
}

}  // namespace cinnabar::contract
