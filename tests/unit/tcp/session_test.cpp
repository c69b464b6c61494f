// SPDX-License-Identifier: BSD-3-Clause
// How sessions begin, which peer they belong to, and how a failed dial is reported.
#include "fixture.hpp"
#include "raw_socket.hpp"

#include <array>
#include <chrono>
#include <filesystem>

namespace cinnabar::tcp {
namespace {

using Session = TcpTest;

std::size_t open_files() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

TEST_F(Session, RefusedAtOnce) {
    Process& client = open("tcp://");
    na::Peer& there = peer(client, nobody());
    const auto start = std::chrono::steady_clock::now();
    const TestOp& first = send(client, there, 1);
    const TestOp& second = send(client, there, 2);
    ASSERT_TRUE(until([&] { return first.done() && second.done(); }));
    EXPECT_EQ(first.result, Errc::refused);
    EXPECT_EQ(second.result, Errc::refused);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << "not after the connect timeout";
    ASSERT_EQ(client.receiver.events.size(), 1u);
    EXPECT_EQ(client.receiver.events[0].event, na::PeerEvent::lost);
    EXPECT_EQ(client.receiver.events[0].why, Errc::refused);
}

TEST_F(Session, RefusalsDoNotBecomeAStormOfDials) {
    Process& client = open("tcp://");
    const std::string endpoint = nobody();
    na::Peer& there = peer(client, endpoint);
    for (na::Tag tag = 1; tag <= 2000; ++tag) {
        const TestOp& op = send(client, there, tag);
        ASSERT_TRUE(until([&] { return op.done(); }));
        EXPECT_EQ(op.result, Errc::refused);
    }
    // Each failed dial was reported as one `lost` event.
    EXPECT_LT(client.receiver.count(na::PeerEvent::lost), 500u);
}

TEST_F(Session, AListenerThatDoesNotAnswerTimesOut) {
    na::TransportOptions options;
    options.connect_timeout = Microseconds(30'000);
    Process& client = open("tcp://", options);
    RawListener silent;
    const TestOp& op = send(client, peer(client, silent.endpoint()), 1);
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::timed_out);
}

TEST_F(Session, AnotherProtocolIsAProtocolError) {
    Process& client = open("tcp://");
    RawListener other;
    const TestOp& op = send(client, peer(client, other.endpoint()), 1);
    std::optional<RawSocket> raw;
    ASSERT_TRUE(until([&] { return (raw = other.accept()).has_value(); }));
    raw->write(as_bytes("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and more than forty-eight bytes of it\r\n"));
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::protocol);
}

TEST_F(Session, AListenerThatHangsUpIsLost) {
    Process& client = open("tcp://");
    RawListener other;
    const TestOp& op = send(client, peer(client, other.endpoint()), 1);
    std::optional<RawSocket> raw;
    ASSERT_TRUE(until([&] { return (raw = other.accept()).has_value(); }));
    raw->hang_up();
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::peer_lost);
}

TEST_F(Session, AnswersAreNotTrusted) {
    Process& client = open("tcp://");
    const auto answered_with = [&](Greeting answer, const std::string& context = {}) {
        RawListener other;
        const TestOp& op = send(client, peer(client, other.endpoint() + context), 1);
        std::optional<RawSocket> raw;
        EXPECT_TRUE(until([&] { return (raw = other.accept()).has_value(); }));
        raw->write(answer);
        EXPECT_TRUE(until([&] { return op.done(); }));
        return op.result;
    };
    Greeting answer = dial_greeting(5);
    EXPECT_EQ(answered_with(answer), Errc::protocol) << "a dial is no answer";
    answer.hello.kind = na::HelloKind::reject;
    for (const unsigned reason : {0u, 1u, 200u}) {
        answer.hello.reason = static_cast<std::uint8_t>(reason);
        EXPECT_EQ(answered_with(answer), Errc::protocol);
    }
    answer.hello.reason = static_cast<std::uint8_t>(Errc::overloaded);
    EXPECT_EQ(answered_with(answer), Errc::overloaded);
    answer.hello.reason = 0;
    answer.hello.kind = na::HelloKind::accept;
    answer.hello.context = 3;
    EXPECT_EQ(answered_with(answer, "?context=0"), Errc::protocol) << "not the context that was dialled";
    EXPECT_EQ(answered_with(answer, "?context=3"), Errc::ok);
    EXPECT_EQ(answered_with(answer), Errc::ok) << "none was named";
    answer.hello.context = na::any_context;
    EXPECT_EQ(answered_with(answer), Errc::protocol) << "it is to be told which one it is";
}

TEST_F(Session, IPv6AndNames) {
    Process& client = open("tcp://");
    for (const std::string uri : {"tcp://[::1]:0", "tcp://localhost:0", "tcp://lo:0", "tcp://:0"}) {
        Process& server = open(uri);
        ASSERT_FALSE(server.transport->endpoints().empty()) << uri;
        connect(client, peer(client, server), server);
    }
    Process& named = open();
    const std::string port = named.endpoint().substr(named.endpoint().rfind(':'));
    na::Peer& by_name = peer(client, "tcp://localhost" + port);
    connect(client, by_name, named);
    EXPECT_EQ(&peer(client, "tcp://localhost" + port), &by_name);
}

TEST_F(Session, OneEndpointIsOnePeerUnderAllItsNames) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    const std::string port = server.endpoint().substr(server.endpoint().rfind(':'));
    EXPECT_EQ(&peer(client, "tcp://lo" + port), &there);
    // An address without and one with an incarnation: after a restart only the first reaches the new process.
    EXPECT_NE(&peer_at(client, na::Addr::make({server.endpoint()}, 0, server.transport->incarnation())), &there);
}

TEST_F(Session, APeerThatDoesNotListenIsReachedOverItsSession) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    na::Peer& back = *server.receiver.messages.front().source;
    EXPECT_FALSE(back.addr().listens());
    EXPECT_EQ(&peer_at(server, back.addr()), &back);
    (void)send(server, back, 7);
    ASSERT_TRUE(until([&] { return client.receiver.count_tag(7) == 1; }));
    EXPECT_EQ(client.receiver.messages.front().source, &there);
    const na::Addr addr = back.addr();
    close(client);
    ASSERT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 1; }));
    const TestOp& op = send(server, back, 8);
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::unreachable);
}

TEST_F(Session, EachContextOfAProcessHasItsOwn) {
    Process& server = open();
    Process& second = open_sibling(server, 1);
    Process& client = open("tcp://");
    na::Peer& to_first = peer(client, server);
    na::Peer& to_second = peer(client, server.endpoint() + "?context=1");
    EXPECT_NE(&to_first, &to_second);
    (void)send(client, to_second, 5);
    ASSERT_TRUE(until([&] { return second.receiver.count_tag(5) == 1; }));
    EXPECT_TRUE(server.receiver.events.empty());
    connect(client, to_first, server);
    // A sleeping context does not prevent connections to the other one.
    pump_.remove(*server.context);
    Process& third = open("tcp://");
    (void)send(third, peer(third, server.endpoint() + "?context=1"), 6);
    ASSERT_TRUE(until([&] { return second.receiver.count_tag(6) == 1; }));
    close(second);
}

// Lane 1 goes to the context of its session.
TEST_F(Session, AConnectionThatNamesNoContextIsAssignedOne) {
    na::TransportOptions spread = listening();
    spread.spread = true;
    Process& first = open("tcp://127.0.0.1:0", spread);
    Process& second = open_sibling(first, 1);
    std::array<Process*, 4> clients{};
    for (Process*& client : clients) {
        client = &open("tcp://");
        (void)send(*client, peer(*client, first.endpoint()), 1);
        const auto came = [&] { return first.receiver.count_tag(1) + second.receiver.count_tag(1); };
        const std::size_t before = static_cast<std::size_t>(&client - clients.data());
        ASSERT_TRUE(until([&] { return came() == before + 1; }));
    }
    EXPECT_EQ(first.receiver.count_tag(1), 2u);
    EXPECT_EQ(second.receiver.count_tag(1), 2u);
    for (const auto& message : second.receiver.messages) EXPECT_EQ(message.source->addr().body().held_by, 1);
    Process& exact = open("tcp://");
    for (na::Tag tag = 2; tag < 5; ++tag) {
        (void)send(exact, peer(exact, first.endpoint() + "?context=0"), tag);
        ASSERT_TRUE(until([&] { return first.receiver.count_tag(tag) == 1; }));
    }
    close(second);
}

TEST_F(Session, AContextMayDialItself) {
    Process& process = open();
    na::Peer& itself = peer(process, process);
    (void)send(process, itself, 3);
    ASSERT_TRUE(until([&] { return process.receiver.count_tag(3) == 1; }));
    na::Peer& back = *process.receiver.messages.front().source;
    EXPECT_NE(&back, &itself);
    (void)send(process, back, 4, 64, na::OpKind::send_expected);
    ASSERT_TRUE(until([&] { return process.receiver.count_tag(4) == 1; }));
    EXPECT_EQ(process.receiver.messages.back().source, &itself);
}

TEST_F(Session, AnIncarnationThatIsGoneIsLost) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer_at(client, na::Addr::make({server.endpoint()}, 0, server.transport->incarnation() ^ 1));
    const TestOp& op = send(client, there, 1);
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::peer_lost);
    EXPECT_TRUE(server.receiver.events.empty());
}

TEST_F(Session, TheNextEndpointIsTriedWhenOneFails) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer_at(client, na::Addr::make({nobody(), server.endpoint()}, 0, 0));
    connect(client, there, server);
}

TEST_F(Session, OverTheLimitOfConnectionsIsOverloaded) {
    na::TransportOptions options = listening();
    options.connections_max = 64;  // pools grow in blocks of 64
    Process& server = open("tcp://127.0.0.1:0", options);
    std::vector<std::unique_ptr<RawSocket>> raws;
    unsigned accepted = 0;
    unsigned overloaded = 0;
    for (na::Incarnation i = 1; i <= 70; ++i) {
        raws.push_back(std::make_unique<RawSocket>(server.endpoint()));
        raws.back()->write(dial_greeting(i));
        std::optional<Greeting> answer;
        ASSERT_TRUE(until([&] { return (answer = raws.back()->take_greeting()).has_value(); }));
        accepted += answer->hello.kind == na::HelloKind::accept ? 1 : 0;
        overloaded += answer->hello.reason == static_cast<std::uint8_t>(Errc::overloaded) ? 1 : 0;
    }
    EXPECT_EQ(accepted, 64u);
    EXPECT_EQ(overloaded, 6u);
}

TEST_F(Session, ADrainingContextAcceptsNoSessions) {
    Process& server = open();
    Process& client = open("tcp://");
    Process& late = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    {
        const na::Context::Ownership own(*server.context);
        server.port().stop_accepting();
    }
    const TestOp& op = send(late, peer(late, server), 1);
    ASSERT_TRUE(until([&] { return op.done(); }));
    EXPECT_EQ(op.result, Errc::shutting_down);
    connect(client, there, server);
}

TEST_F(Session, AnAddressInUseIsReported) {
    Process& server = open();
    const auto second = plugin_info.open(na::Uri::parse(server.endpoint()).value(), listening());
    EXPECT_EQ(second.code(), Errc::address_in_use);
    EXPECT_EQ(plugin_info.open(na::Uri::parse("tcp://no-such-host.invalid:0").value(), listening()).code(),
              Errc::bad_address);
}

TEST_F(Session, AThousandConnectionsLeaveNothingBehind) {
    Process& server = open();
    (void)pump_.round();
    const std::size_t before = open_files();
    for (na::Incarnation i = 1; i <= 1000; ++i) {
        RawSocket raw(server.endpoint());
        raw.write(dial_greeting(i));
        std::optional<Greeting> answer;
        ASSERT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
        raw.write_message(1, 64);
        ASSERT_TRUE(until([&] { return server.receiver.messages.size() == i; }));
        raw.hang_up();
        ASSERT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == i; }));
    }
    (void)pump_.round();
    EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace cinnabar::tcp
