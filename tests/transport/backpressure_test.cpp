// SPDX-License-Identifier: BSD-3-Clause
// Back-pressure: no message is lost while a receiver does not read, as long as it has slots; `again` means that nothing
// was posted; exhausted buffers and slots become available again.
#include "contract.hpp"

#include <algorithm>

namespace cinnabar::contract {

class BackPressure : public ContractTest {};
CINNABAR_CONTRACT(BackPressure);

TEST_P(BackPressure, MessagesWithinTheSlotsWaitUnread) {
    na::TransportOptions options = listening();
    options.receive_slots = 64;
    Node& a = make_node("a", options);
    Node& b = make_node("b", options);
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    pump_.remove(*b.context);
    for (na::Tag tag = 0; tag < 64; ++tag) (void)send(a, *there, tag, 200);
    if (network_.is_sim()) pump_.run_for(Microseconds(50'000));
    for (int i = 0; i < 100; ++i) (void)pump_.round();
    EXPECT_EQ(b.receiver.messages.size(), 0u);
    pump_.add(*b.context);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 64; }));
    for (const auto& got : b.receiver.messages) EXPECT_TRUE(support::holds_pattern(got.bytes, got.tag));
    EXPECT_EQ(a.receiver.count(na::PeerEvent::lost), 0u);
}

TEST_P(BackPressure, AgainMeansThatNothingWasTaken) {
    na::TransportOptions options = listening();
    options.receive_slots = 64;
    Node& a = make_node("a", options);
    Node& b = make_node("b", options);
    CINNABAR_NEEDS("flow control of its own", GetParam() != NetworkKind::sim_strict);
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    pump_.remove(*b.context);
    // Until the network is full. The loop is bounded, because some networks queue without limit.
    std::vector<TestOp*> taken;
    for (na::Tag tag = 0; tag < 2000; ++tag) {
        TestOp& op = make_message(*there, tag, 1000);
        const Errc why = post_now(a, op);
        if (why == Errc::ok) {
            taken.push_back(&op);
            (void)a.context->progress(Microseconds(0));
            continue;
        }
        ASSERT_EQ(why, Errc::again) << to_string(why);
        EXPECT_EQ(op.op.state, na::OpState::idle);
        a.port().give_message(*op.op.message);
        break;
    }
    pump_.add(*b.context);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == taken.size(); }));
    for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(b.receiver.count_tag(i), 1u);
    // Afterwards everything works again.
    (void)send(a, *there, 5000, 8);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(5000) == 1; }));
}

TEST_P(BackPressure, BuffersRunOutAndComeBack) {
    na::TransportOptions options = listening();
    options.send_slots_max = 64;
    Node& a = make_node("a", options);
    std::vector<na::Message*> taken;
    while (na::Message* message = a.port().take_message()) {
        taken.push_back(message);
        ASSERT_LE(taken.size(), 1000u) << "send_slots_max does not hold";
    }
    EXPECT_GE(taken.size(), 64u);
    for (na::Message* message : taken) {
        EXPECT_EQ(message->port, &a.port());
        EXPECT_GE(message->payload_bytes_max, a.transport->limits().message_bytes_max);
        std::fill_n(message->payload, message->payload_bytes_max, std::byte{0x33});
    }
    a.port().give_message(*taken.back());
    EXPECT_EQ(a.port().take_message(), taken.back());
    for (na::Message* message : taken) a.port().give_message(*message);
    na::Message* again = a.port().take_message();
    ASSERT_NE(again, nullptr);
    a.port().give_message(*again);
}

TEST_P(BackPressure, RandomAgainLosesNothing) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("a transport that answers `again` on request", network_.is_sim());
    sim::WorldOptions options = network_.world().options();
    options.again_one_in = 2;
    network_.world().set_options(options);
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    for (na::Tag tag = 0; tag < 200; ++tag) (void)send(a, peer, tag, 10);
    ASSERT_TRUE(run_until([&] { return b.receiver.messages.size() == 200; }));
}

TEST_P(BackPressure, NoSlotLeftBreaksAStrictConnection) {
    na::TransportOptions options = listening();
    options.receive_slots = 8;
    Node& a = make_node("a", options);
    CINNABAR_NEEDS("slots without flow control", GetParam() == NetworkKind::sim_strict);
    Node& b = make_node("b", options);
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    pump_.remove(*b.context);
    for (na::Tag tag = 0; tag < 9; ++tag) (void)send(a, *there, tag, 10);
    const bool lost = pump_.until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; });
    EXPECT_TRUE(lost) << "a message without a slot must show";
    EXPECT_TRUE(std::any_of(ops_.begin(), ops_.end(), [](auto& op) { return op.result == Errc::peer_lost; }));
    pump_.add(*b.context);
}

TEST_P(BackPressure, KeptArrivalsPinTheirSlots) {
    na::TransportOptions options = listening();
    options.receive_slots = 8;
    Node& a = make_node("a", options);
    CINNABAR_NEEDS("slots without flow control", GetParam() == NetworkKind::sim_strict);
    Node& b = make_node("b", options);
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    std::vector<na::Kept> kept;
    b.receiver.on_arrival = [&](na::Arrival& arrival) {
        ASSERT_EQ(arrival.port->keep(arrival, kept.emplace_back()), Errc::ok);
    };
    for (na::Tag tag = 0; tag < 8; ++tag) (void)send(a, *there, tag, 10);
    ASSERT_TRUE(run_until([&] { return kept.size() == 8; }));
    (void)send(a, *there, 100, 10);
    ASSERT_TRUE(run_until([&] { return a.receiver.count(na::PeerEvent::lost) == 1; }));
    for (na::Kept& each : kept) each.port->release(each);
    b.receiver.on_arrival = nullptr;
    (void)send(a, *there, 101, 10);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(101) == 1; }));
}

}  // namespace cinnabar::contract
