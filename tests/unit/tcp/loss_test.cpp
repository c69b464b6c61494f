// SPDX-License-Identifier: BSD-3-Clause
// How sessions end, once for all ops that wait, and how the next session begins.
#include "fixture.hpp"
#include "raw_socket.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace cinnabar::tcp {
namespace {

using Loss = TcpTest;

TEST_F(Loss, ARestartedPeerIsReachedAgainAndDistinguished) {
    Process& client = open("tcp://");
    Process& first = open();
    const std::string endpoint = first.endpoint();
    na::Peer& there = peer(client, endpoint);
    connect(client, there, first);
    const na::Incarnation before = there.incarnation();
    const std::uint32_t epoch = there.epoch();
    close(first);
    first.transport.reset();
    ASSERT_TRUE(until([&] { return client.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(there.state(), na::PeerState::idle);
    Process& second = open(endpoint);
    connect(client, there, second);
    EXPECT_NE(there.incarnation(), before);
    EXPECT_EQ(there.epoch(), epoch + 1);
    ASSERT_EQ(client.receiver.events.size(), 4u);
    EXPECT_EQ(client.receiver.events[1].event, na::PeerEvent::lost);
    EXPECT_EQ(client.receiver.events[1].why, Errc::peer_lost);
    EXPECT_EQ(client.receiver.count(na::PeerEvent::restarted), 1u);
    EXPECT_EQ(client.receiver.count(na::PeerEvent::connected), 2u);
}

TEST_F(Loss, WaitingOpsEndOnceAndTheLossIsReportedOnce) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    std::vector<std::byte> memory(1 << 20);
    Lent& lent = lend(server, {{memory.data(), memory.size()}});
    std::vector<std::byte> target(1 << 20);
    const auto local = registered(client, {{target.data(), target.size()}});
    pump_.remove(*server.context);
    for (int i = 0; i < 100; ++i) {
        (void)rma(client, there, i % 2 ? na::OpKind::get : na::OpKind::put, *local, lent, target.size());
    }
    for (na::Tag tag = 1; tag <= 2000; ++tag) (void)send(client, there, tag, 16 * 1024);
    pump_.run_for(Microseconds(5000));
    close(server);
    ASSERT_TRUE(
        until([&] { return std::all_of(ops_.begin(), ops_.end(), [](const TestOp& op) { return op.done(); }); }));
    EXPECT_EQ(client.receiver.count(na::PeerEvent::lost), 1u);
    EXPECT_EQ(ops_.back().result, Errc::peer_lost);
    for (std::size_t i = 1; i <= 100; ++i) EXPECT_EQ(ops_[i].result, Errc::peer_lost) << i;
}

TEST_F(Loss, MessagesSentBeforeTheEndArrive) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    pump_.remove(*server.context);
    for (na::Tag tag = 10; tag < 20; ++tag) (void)send(client, there, tag, 1000);
    ASSERT_TRUE(until([&] { return ops_.back().done(); }));
    close(client);
    pump_.add(*server.context);
    ASSERT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server.receiver.messages.size(), 11u);
}

// The kernel resets a connection that is closed with unread input, and drops its unsent output.
TEST_F(Loss, UnreadInputDoesNotDropAnswers) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    na::Peer& back = *server.receiver.messages.front().source;
    pump_.remove(*server.context);
    for (int i = 0; i < 4; ++i) (void)send(client, there, 2, 16 * 1024);
    ASSERT_TRUE(until([&] { return ops_.back().done(); }));
    pump_.remove(*client.context);
    // More than the client's window, so that a part is unsent when the server closes.
    std::vector<const TestOp*> answers;
    for (na::Tag tag = 100; tag < 400; ++tag) answers.push_back(&send(server, back, tag, 16 * 1024));
    close(server);
    pump_.add(*client.context);
    ASSERT_TRUE(until([&] { return client.receiver.count(na::PeerEvent::lost) == 1; }));
    std::size_t taken = 0;
    for (const TestOp* answer : answers) taken += answer->result == Errc::ok ? 1 : 0;
    EXPECT_GT(taken, 8u);
    EXPECT_EQ(client.receiver.messages.size(), taken);
}

TEST_F(Loss, ALostLaneEndsTheSession) {
    Process& server = open();
    RawSocket raw(server.endpoint());
    raw.write(dial_greeting(5));
    std::optional<Greeting> accepted;
    ASSERT_TRUE(until([&] { return (accepted = raw.take_greeting()).has_value(); }));
    Greeting greeting = dial_greeting(5);
    greeting.hello.kind = na::HelloKind::lane;
    greeting.hello.lane = 1;
    greeting.hello.peer_incarnation = server.transport->incarnation();
    greeting.token = accepted->token;
    RawSocket lane(server.endpoint());
    lane.write(greeting);
    ASSERT_TRUE(until([&] { return lane.take_greeting().has_value(); }));
    lane.reset();
    lane.hang_up();
    EXPECT_TRUE(until([&] { return raw.closed(); }));
    EXPECT_EQ(server.receiver.count(na::PeerEvent::lost), 1u);
}

// To an address without a route, for which the kernel reports the error at once.
TEST_F(Loss, ADialThatFailsInsideThePostIsOneDial) {
    Process& client = open("tcp://");
    const TestOp& op = send(client, peer(client, "tcp://255.255.255.255:9"), 1);
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::unreachable) << to_string(op.result);
    pump_.run_for(Microseconds(1000));
    EXPECT_EQ(client.receiver.count(na::PeerEvent::lost), 1u);
}

TEST_F(Loss, DisconnectIsALossForBoth) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    {
        const na::Context::Ownership own(*client.context);
        client.port().disconnect(there);
    }
    ASSERT_TRUE(until([&] {
        return client.receiver.count(na::PeerEvent::lost) == 1 && server.receiver.count(na::PeerEvent::lost) == 1;
    }));
    connect(client, there, server);
    EXPECT_EQ(client.receiver.count(na::PeerEvent::restarted), 0u) << "the same process";
}

TEST_F(Loss, DisconnectFromInsideAnArrivalIsSafe) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    server.receiver.on_arrival = [&](na::Arrival& arrival) { server.port().disconnect(*arrival.source); };
    for (na::Tag tag = 1; tag <= 50; ++tag) (void)send(client, there, tag);
    EXPECT_TRUE(until([&] { return client.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server.receiver.messages.size(), 1u) << "nothing comes from a peer that was dropped";
}

// Only the claim in its Hello says that it is the same peer as before.
TEST_F(Loss, APeerThatComesBackIsANewPeer) {
    Process& server = open();
    for (int i = 0; i < 3; ++i) {
        RawSocket raw(server.endpoint());
        raw.write(dial_greeting(5));
        ASSERT_TRUE(until([&] { return raw.take_greeting().has_value(); }));
        raw.write_message(1, 8);
        ASSERT_TRUE(until([&] { return server.receiver.messages.size() == static_cast<std::size_t>(i + 1); }));
        na::Peer* const source = server.receiver.messages.back().source;
        source->acquire();
        for (const auto& [process, before] : held_) EXPECT_NE(source, before);
        held_.emplace_back(&server, source);
        EXPECT_EQ(source->epoch(), 1u);
        // The next session is dialled before the end of this one is read.
        raw.hang_up();
    }
    ASSERT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 3; }));
    EXPECT_EQ(server.receiver.count(na::PeerEvent::restarted), 0u);
}

// A child is killed while it has unanswered messages.
TEST_F(Loss, AKilledProcessIsNoticed) {
    Process& server = open();
    const std::string endpoint = server.endpoint();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(60);
        RawSocket raw(endpoint);
        raw.write(dial_greeting(5));
        while (!raw.take_greeting()) {
        }
        raw.write_message(42, 8);
        for (;;) ::pause();
    }
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(42) == 1; }));
    const TestOp& sent = send(server, *server.receiver.messages.front().source, 1);
    ASSERT_TRUE(until([&] { return sent.done(); }));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server.receiver.events.back().why, Errc::peer_lost);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace cinnabar::tcp
