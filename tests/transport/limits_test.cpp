// SPDX-License-Identifier: BSD-3-Clause
// Checks that na makes for all transports: state, capabilities, limits. An op that fails a check is not posted and
// never completes.
#include "contract.hpp"

#include <sys/mman.h>

namespace cinnabar::contract {

class LimitsContract : public ContractTest {};
CINNABAR_CONTRACT(LimitsContract);

TEST_P(LimitsContract, AreSane) {
    Node& a = make_node("a");
    const na::Limits& limits = a.transport->limits();
    EXPECT_GE(limits.message_bytes_max, 1024u);
    EXPECT_GE(limits.rma_bytes_max, 4096u);
    EXPECT_GE(limits.segments_max, 1u);
    EXPECT_GE(limits.op_segments_max, 1u);
    EXPECT_GE(limits.lease_key_bytes_max, 1u);
    EXPECT_GE(limits.rma_inflight_max, 1u);
    EXPECT_GE(limits.receive_slots, 1u);
    EXPECT_NE(a.transport->incarnation(), 0u);
    EXPECT_FALSE(a.transport->endpoints().empty());
    for (const std::string& endpoint : a.transport->endpoints()) {
        EXPECT_TRUE(a.transport->reaches(endpoint)) << endpoint;
        EXPECT_TRUE(na::Addr::parse(endpoint).ok()) << endpoint;
    }
    EXPECT_FALSE(a.transport->reaches("unknown://somewhere"));
}

TEST_P(LimitsContract, AMessageTooLarge) {
    na::TransportOptions small = listening();
    small.message_bytes_max = 1024;
    Node& a = make_node("a", small);
    Node& b = make_node("b", small);
    na::Peer& peer = peer_of(a, b);
    ASSERT_EQ(a.transport->limits().message_bytes_max, 1024u);
    TestOp& fits = make_message(peer, 1, 1024);
    TestOp& op = make_message(peer, 2, 8);
    op.op.message_bytes = 1025;
    const Errc why = post_now(a, op);
    EXPECT_TRUE(why == Errc::too_large || why == Errc::invalid_argument) << to_string(why);
    post(a, fits);
    ASSERT_TRUE(run_until([&] { return fits.done() && b.receiver.messages.size() == 1; }));
    EXPECT_EQ(op.completions, 0u);
    a.port().give_message(*op.op.message);
}

TEST_P(LimitsContract, TheSmallerMessageLimitApplies) {
    na::TransportOptions small = listening();
    small.message_bytes_max = 1024;
    na::TransportOptions large = listening();
    large.message_bytes_max = 8192;
    Node& a = make_node("a", large);
    CINNABAR_NEEDS("processes with limits of their own", !network_.one_process());
    Node& b = make_node("b", small);
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    EXPECT_EQ(there->message_bytes_max(), 1024u);
    EXPECT_EQ(back->message_bytes_max(), 1024u);
    TestOp& op = make_message(*there, 1, 1025);
    EXPECT_EQ(post_now(a, op), Errc::too_large);
    a.port().give_message(*op.op.message);
    (void)send(a, *there, 2, 1024);
    ASSERT_TRUE(run_until([&] { return b.receiver.count_tag(2) == 1; }));
}

TEST_P(LimitsContract, AMessageOverThePeersLimitFailsOnceTheLimitIsKnown) {
    na::TransportOptions small = listening();
    small.message_bytes_max = 1024;
    na::TransportOptions large = listening();
    large.message_bytes_max = 8192;
    Node& a = make_node("a", large);
    CINNABAR_NEEDS("processes with limits of their own", !network_.one_process());
    Node& b = make_node("b", small);
    na::Peer& peer = peer_of(a, b);
    TestOp& over = send(a, peer, 1, 8000);
    TestOp& fits = send(a, peer, 2, 800);
    ASSERT_TRUE(run_until([&] { return over.done() && fits.done() && b.receiver.count_tag(2) == 1; }));
    EXPECT_EQ(over.result, Errc::too_large);
    EXPECT_EQ(fits.result, Errc::ok);
    EXPECT_EQ(b.receiver.count_tag(1), 0u);
    EXPECT_EQ(b.receiver.count(na::PeerEvent::lost), 0u);
}

TEST_P(LimitsContract, AMessageOfAnotherPort) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    TestOp& op = make_message(peer_of(b, a), 1, 8);
    na::Message* foreign = op.op.message;
    op.op.peer = &peer_of(a, b);
    EXPECT_EQ(post_now(a, op), Errc::invalid_argument);
    op.op.message = nullptr;
    EXPECT_EQ(post_now(a, op), Errc::invalid_argument);
    b.port().give_message(*foreign);
    EXPECT_EQ(op.completions, 0u);
}

TEST_P(LimitsContract, AnRmaTooLarge) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    const std::size_t bytes = a.transport->limits().rma_bytes_max + 1;
    CINNABAR_NEEDS("an RMA limit below a terabyte", bytes < std::size_t{1} << 40);
    // Only devices that pin registered memory touch these pages.
    void* room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(room, MAP_FAILED);
    const na::Segment segment{static_cast<std::byte*>(room), bytes};
    auto local = register_memory(a, {segment});
    Lent& remote = lend(b, {segment});
    TestOp& op = make_rma(na::OpKind::put, peer_of(a, b), *local, remote, bytes);
    EXPECT_EQ(post_now(a, op), Errc::too_large);
    EXPECT_EQ(op.completions, 0u);
    revoke(remote);
    remote.memory.reset();
    local.reset();
    ::munmap(room, bytes);
}

TEST_P(LimitsContract, AnRmaOverItsOwnMemoryOrThePeers) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    na::Peer& peer = peer_of(a, b);
    GuardedBuffer here(100);
    GuardedBuffer there(200);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    const std::uint64_t most = ~std::uint64_t{0};
    const auto refused = [&](std::uint64_t bytes, std::uint64_t local_offset, std::uint64_t remote_offset) {
        return post_now(a, make_rma(na::OpKind::put, peer, *local, remote, bytes, local_offset, remote_offset));
    };
    EXPECT_EQ(refused(101, 0, 0), Errc::invalid_argument);
    EXPECT_EQ(refused(1, 100, 0), Errc::invalid_argument);
    EXPECT_EQ(refused(50, 51, 0), Errc::invalid_argument);
    EXPECT_EQ(refused(50, most - 10, 0), Errc::invalid_argument);
    EXPECT_EQ(refused(1, 0, 200), Errc::invalid_argument);
    EXPECT_EQ(refused(100, 0, 101), Errc::invalid_argument);
    EXPECT_EQ(refused(100, 0, most), Errc::invalid_argument);
    TestOp& no_memory = make_rma(na::OpKind::get, peer, *local, remote, 8);
    no_memory.op.local = nullptr;
    EXPECT_EQ(post_now(a, no_memory), Errc::invalid_argument);
    EXPECT_EQ(a.context->ops_posted(), 0u);
}

TEST_P(LimitsContract, AnRmaOverTooManyLocalSegments) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    const std::size_t most = a.transport->limits().op_segments_max;
    CINNABAR_NEEDS("fewer segments in an op than in a registration", most < a.transport->limits().segments_max);
    std::vector<std::byte> memory((most + 1) * 32);
    std::vector<na::Segment> segments;
    for (std::size_t i = 0; i <= most; ++i) segments.push_back({memory.data() + i * 32, 16});
    GuardedBuffer there((most + 1) * 16);
    auto local = register_memory(a, segments);
    Lent& remote = lend(b, {there.segment()});
    na::Peer& peer = peer_of(a, b);
    EXPECT_EQ(post_now(a, make_rma(na::OpKind::put, peer, *local, remote, (most + 1) * 16)), Errc::too_large);
    TestOp& fits = make_rma(na::OpKind::put, peer, *local, remote, most * 16, 16);
    post(a, fits);
    ASSERT_TRUE(run_until_done(fits));
    EXPECT_EQ(fits.result, Errc::ok);
}

TEST_P(LimitsContract, MemoryOfAnotherTransport) {
    Node& a = make_node("a");
    CINNABAR_NEEDS("several processes", !network_.one_process());
    Node& b = make_node("b");
    GuardedBuffer here(64);
    auto foreign = register_memory(b, {here.segment()});
    Lent& remote = lend(b, {here.segment()});
    EXPECT_EQ(post_now(a, make_rma(na::OpKind::put, peer_of(a, b), *foreign, remote, 64)), Errc::invalid_argument);
}

TEST_P(LimitsContract, AMissingCapability) {
    Node& a = make_node("a");
    Node& b = make_node("b");
    CINNABAR_NEEDS("a missing capability", !caps().put_notify || !caps().atomics);
    GuardedBuffer here(64);
    GuardedBuffer there(64);
    auto local = register_memory(a, {here.segment()});
    Lent& remote = lend(b, {there.segment()});
    na::Peer& peer = peer_of(a, b);
    if (!caps().put_notify) {
        EXPECT_EQ(post_now(a, make_rma(na::OpKind::put_notify, peer, *local, remote, 64)), Errc::unsupported);
    }
    if (!caps().atomics) {
        EXPECT_EQ(post_now(a, make_rma(na::OpKind::fetch_add, peer, *local, remote, 8)), Errc::unsupported);
        EXPECT_EQ(post_now(a, make_rma(na::OpKind::compare_swap, peer, *local, remote, 8)), Errc::unsupported);
    }
}

TEST_P(LimitsContract, Registrations) {
    na::TransportOptions few = listening();
    few.registrations_max = 3;
    Node& a = make_node("a", few);
    GuardedBuffer memory(64);
    std::vector<std::unique_ptr<na::Memory>> made;
    for (int i = 0; i < 3; ++i) made.push_back(register_memory(a, {memory.segment()}));
    const na::Segment segment = memory.segment();
    EXPECT_EQ(a.transport->register_memory({&segment, 1}, na::Access::read).code(), Errc::too_large);
    made.pop_back();
    made.push_back(register_memory(a, {memory.segment()}));

    const std::vector<na::Segment> many(a.transport->limits().segments_max + 1, segment);
    made.clear();
    EXPECT_EQ(a.transport->register_memory(many, na::Access::read).code(), Errc::too_large);
}

TEST_P(LimitsContract, RegisteredBytes) {
    na::TransportOptions few = listening();
    few.registered_bytes_max = 96 * 1024;
    Node& a = make_node("a", few);
    GuardedBuffer memory(64 * 1024);
    const na::Segment whole = memory.segment();
    const na::Segment half{whole.base, whole.bytes / 2};
    auto first = register_memory(a, {whole});
    const auto refused = a.transport->register_memory(std::vector{half, half}, na::Access::read);
    EXPECT_EQ(refused.code(), Errc::too_large);
    EXPECT_NE(refused.error().message().find("registered_bytes_max"), std::string::npos) << refused.error().message();
    const auto second = register_memory(a, {half});
    const na::Segment byte{whole.base, 1};
    EXPECT_EQ(a.transport->register_memory({&byte, 1}, na::Access::read).code(), Errc::too_large);
    first.reset();
    (void)register_memory(a, {half, half});
}

TEST_P(LimitsContract, Contexts) {
    na::TransportOptions few = listening();
    few.contexts_max = 2;
    Node& a = make_node("a", few);
    Node& second = make_sibling(a, 1);
    na::ContextOptions options = one_thread();
    na::Transport* transport = a.transport.get();
    options.id = 1;
    EXPECT_EQ(na::Context::open({&transport, 1}, options, second.receiver).code(), Errc::exists);
    options.id = 2;
    EXPECT_EQ(na::Context::open({&transport, 1}, options, second.receiver).code(), Errc::too_large);
    close(second);
    (void)make_sibling(a, 1);  // the id is free again
}

TEST_P(LimitsContract, ConnectionsBeyondTheLimitAreRefused) {
    na::TransportOptions few = listening();
    few.connections_max = 2;
    Node& hub = make_node("hub", few);
    CINNABAR_NEEDS("several processes", !network_.one_process());
    std::vector<TestOp*> sent;
    for (int i = 0; i < 4; ++i) {
        Node& spoke = make_node("spoke" + std::to_string(i));
        sent.push_back(&send(spoke, peer_of(spoke, hub), static_cast<na::Tag>(i), 8));
        ASSERT_TRUE(run_until_done(*sent.back()));
        // The send completes in any case. Whether the connection was accepted shows in what arrives.
        if (i < 2) {
            ASSERT_TRUE(run_until([&] { return hub.receiver.messages.size() == static_cast<std::size_t>(i + 1); }));
        }
    }
    EXPECT_EQ(hub.receiver.messages.size(), 2u);
    EXPECT_EQ(hub.receiver.count(na::PeerEvent::connected), 2u);
    log_.allow("connections_max");
}

// Some networks free ended connections slowly.
TEST_P(LimitsContract, EndedConnectionsDoNotCountForTheLimit) {
    CINNABAR_NEEDS("several processes", !network_.one_process());
    na::TransportOptions few = listening();
    few.connections_max = 2;
    few.receive_slots = 64;
    Node& hub = make_node("hub", few);
    Node& spoke = make_node("spoke");
    for (std::uint32_t round = 1; round <= 20; ++round) {
        na::Peer* there = nullptr;
        na::Peer* back = nullptr;
        ASSERT_NO_FATAL_FAILURE(connect(spoke, hub, there, back)) << round;
        TestOp& answer = send(hub, *back, round, 8);
        ASSERT_TRUE(run_until([&] { return answer.done() && spoke.receiver.count_tag(round) == 1; })) << round;
        spoke.port().disconnect(*there);
        ASSERT_TRUE(run_until([&] {
            return spoke.receiver.count(na::PeerEvent::lost) == round &&
                   hub.receiver.count(na::PeerEvent::lost) == round;
        })) << round;
    }
}

}  // namespace cinnabar::contract
