// SPDX-License-Identifier: BSD-3-Clause
// Hand-made incoming connections that claim to be another peer. The incarnation is not a secret: whoever dials a
// process learns that process's, and could claim it.
#include "fixture.hpp"
#include "raw_socket.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

class IdentityTest : public TcpTest {
  protected:
    // Dials with that incarnation and sends a message.
    RawSocket claim(Process& at, na::Incarnation incarnation, na::Tag tag) {
        RawSocket raw(at.endpoint());
        raw.write(dial_greeting(incarnation));
        std::optional<Greeting> answer;
        EXPECT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
        EXPECT_EQ(answer->hello.kind, na::HelloKind::accept);
        raw.write_message(tag, 16);
        EXPECT_TRUE(until([&] { return at.receiver.count_tag(tag) == 1; }));
        return raw;
    }
    na::Peer& source_of(const Process& at, na::Tag tag) {
        const auto& all = at.receiver.messages;
        return *std::find_if(all.begin(), all.end(), [&](const auto& got) { return got.tag == tag; })->source;
    }
};

TEST_F(IdentityTest, AClaimToBeALostServerGetsNoneOfItsMessages) {
    Process& server = open();
    Process& client = open();
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    client.port().disconnect(there);
    ASSERT_TRUE(until([&] { return client.receiver.count(na::PeerEvent::lost) == 1; }));
    RawSocket liar = claim(client, server.transport->incarnation(), 50);
    EXPECT_NE(&source_of(client, 50), &there);
    // Messages to the server's address, with and without the claimed incarnation.
    const std::size_t got = liar.received();
    (void)send(client, there, 60);
    na::Peer& exact = peer_at(client, na::Addr::make({server.endpoint()}, 0, server.transport->incarnation()));
    (void)send(client, exact, 61);
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(60) == 1 && server.receiver.count_tag(61) == 1; }));
    EXPECT_EQ(liar.received(), got);
    EXPECT_FALSE(liar.closed());
}

TEST_F(IdentityTest, AClaimToBeADialledServerDoesNotEndTheDial) {
    RawListener server;
    Process& client = open();
    na::Peer& there = peer(client, server.endpoint());
    const TestOp& op = send(client, there, 60);
    std::optional<RawSocket> called;
    ASSERT_TRUE(until([&] { return (called = server.accept()).has_value(); }));
    std::optional<Greeting> hello;
    ASSERT_TRUE(until([&] { return (hello = called->take_greeting()).has_value(); }));
    // From the same host, with an incarnation below and one above the client's.
    for (const na::Incarnation incarnation : {na::Incarnation{1}, ~na::Incarnation{0}}) {
        RawSocket liar = claim(client, incarnation, 50 + incarnation % 2);
        EXPECT_NE(&source_of(client, 50 + incarnation % 2), &there);
        client.receiver.messages.clear();
        EXPECT_EQ(liar.received(), 0u);
    }
    EXPECT_FALSE(op.done());
    EXPECT_EQ(there.state(), na::PeerState::connecting);
    Greeting answer = dial_greeting(7);
    answer.hello.kind = na::HelloKind::accept;
    called->write(answer);
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::ok);
    EXPECT_TRUE(until([&] { return called->received() > 0; }));
}

TEST_F(IdentityTest, TwoWithTheSameClaimAreTwoPeers) {
    Process& server = open();
    RawSocket first = claim(server, 77, 50);
    RawSocket second = claim(server, 77, 51);
    na::Peer& one = source_of(server, 50);
    na::Peer& two = source_of(server, 51);
    EXPECT_NE(&one, &two);
    EXPECT_FALSE(one.addr() == two.addr());
    const std::size_t got = second.received();
    (void)send(server, peer_at(server, one.addr()), 52);
    EXPECT_TRUE(until([&] { return first.received() > 0; }));
    EXPECT_EQ(second.received(), got);
    // Addresses that anybody could make reach neither peer.
    EXPECT_EQ(server.context->peer(na::Addr::make({}, 0, 77)).code(), Errc::unreachable);
}

TEST_F(IdentityTest, AClaimToBeThisProcessIsNotBelieved) {
    Process& server = open();
    const RawSocket liar = claim(server, server.transport->incarnation(), 50);
    EXPECT_FALSE(source_of(server, 50).addr().body().own);
    // Nor while the process dials itself.
    na::Peer& itself = peer(server, server);
    (void)send(server, itself, 51);
    const RawSocket another = claim(server, server.transport->incarnation(), 52);
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(51) == 1; }));
    EXPECT_FALSE(source_of(server, 52).addr().body().own);
    EXPECT_TRUE(source_of(server, 51).addr().body().own);
}

}  // namespace
}  // namespace cinnabar::tcp
