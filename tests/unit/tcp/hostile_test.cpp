// SPDX-License-Identifier: BSD-3-Clause
// Bytes that a correct peer never sends end only the connection on which they arrive.
#include "fixture.hpp"
#include "raw_socket.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace cinnabar::tcp {
namespace {

class Hostile : public TcpTest {
  protected:
    Hostile() : server_(open("tcp://127.0.0.1:0", quick())), client_(open("tcp://")) {
        there_ = &peer(client_, server_);
        connect(client_, *there_, server_);
    }
    static na::TransportOptions quick() {
        na::TransportOptions options = listening();
        options.hello_timeout = Microseconds(30'000);
        return options;
    }
    RawSocket shake(na::Incarnation incarnation) {
        RawSocket raw(server_.endpoint());
        raw.write(dial_greeting(incarnation));
        std::optional<Greeting> answer;
        EXPECT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
        EXPECT_EQ(answer->hello.kind, na::HelloKind::accept);
        return raw;
    }
    // The honest client is still served.
    void expect_others_served() {
        const std::size_t lost = client_.receiver.count(na::PeerEvent::lost);
        connect(client_, *there_, server_);
        EXPECT_EQ(client_.receiver.count(na::PeerEvent::lost), lost);
        EXPECT_EQ(lost, 0u);
    }
    void expect_closed(RawSocket& raw) {
        EXPECT_TRUE(until([&] { return raw.closed(); }));
    }

    Process& server_;
    Process& client_;
    na::Peer* there_ = nullptr;
};

TEST_F(Hostile, SilentConnectionsAreDroppedAfterTheHelloTimeout) {
    RawSocket silent(server_.endpoint());
    RawSocket half(server_.endpoint());
    half.write(ConstBytes(dial_greeting(5).encode()).first(Greeting::wire_bytes - 1));
    expect_closed(silent);
    expect_closed(half);
    EXPECT_EQ(server_.receiver.events.size(), 1u) << "nobody hears of them";
    expect_others_served();
}

TEST_F(Hostile, ManySilentConnectionsDoNotBlockOthers) {
    na::TransportOptions patient = listening();
    patient.hello_timeout = Microseconds(60'000'000);
    Process& server = open("tcp://127.0.0.1:0", patient);
    std::vector<std::unique_ptr<RawSocket>> crowd;
    for (int i = 0; i < 400; ++i) {
        crowd.push_back(std::make_unique<RawSocket>(server.endpoint()));
        (void)pump_.round();
    }
    na::Peer& there = peer(client_, server);
    connect(client_, there, server);
    EXPECT_TRUE(until([&] { return crowd.front()->closed(); })) << "the oldest made room";
    EXPECT_FALSE(crowd.back()->closed());
}

// Connects from another host than the RawSockets of other tests.
RawSocket slow_from_elsewhere(const std::string& endpoint) {
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7f000002);
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    const auto to = na::resolve(na::Uri::parse(endpoint).value(), na::Purpose::dial).value().front();
    EXPECT_EQ(::connect(fd.get(), to.get(), to.bytes()), 0);
    EXPECT_EQ(::fcntl(fd.get(), F_SETFL, O_NONBLOCK), 0);
    return RawSocket(std::move(fd));
}

TEST_F(Hostile, AHostThatFloodsThePortDropsItsOwn) {
    na::TransportOptions patient = listening();
    patient.hello_timeout = Microseconds(60'000'000);
    Process& server = open("tcp://127.0.0.1:0", patient);
    RawSocket slow = slow_from_elsewhere(server.endpoint());
    std::vector<std::unique_ptr<RawSocket>> crowd;
    for (int i = 0; i < 400; ++i) {
        crowd.push_back(std::make_unique<RawSocket>(server.endpoint()));
        (void)pump_.round();
    }
    EXPECT_TRUE(until([&] { return crowd.front()->closed(); }));
    ASSERT_FALSE(slow.closed());
    slow.write(dial_greeting(5));
    std::optional<Greeting> answer;
    EXPECT_TRUE(until([&] { return (answer = slow.take_greeting()).has_value(); }));
}

TEST_F(Hostile, AnInvalidHelloIsDropped) {
    for (const std::size_t at : {0u, 5u}) {  // magic, kind
        auto bytes = dial_greeting(5).encode();
        bytes[at] = std::byte{0xee};
        RawSocket raw(server_.endpoint());
        raw.write(bytes);
        expect_closed(raw);
        EXPECT_EQ(raw.received(), 0u);
    }
    RawSocket zero(server_.endpoint());
    zero.write(dial_greeting(0));
    expect_closed(zero);
    RawSocket http(server_.endpoint());
    http.write(as_bytes("GET / HTTP/1.1\r\nHost: elsewhere.example.org\r\nAccept: */*\r\n\r\n"));
    expect_closed(http);
    expect_others_served();
}

// The peer receives the reason.
TEST_F(Hostile, UnknownFieldsAreRejectedAsUnsupported) {
    // Version, a feature, an authentication method, a reserved byte, a token that should be zero.
    for (const std::size_t at : {4u, 8u, 38u, 39u, 55u}) {
        auto bytes = dial_greeting(5).encode();
        bytes[at] ^= std::byte{7};
        RawSocket raw(server_.endpoint());
        raw.write(bytes);
        std::optional<Greeting> answer;
        ASSERT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); })) << at;
        EXPECT_EQ(answer->hello.kind, na::HelloKind::reject) << at;
        EXPECT_EQ(answer->hello.reason, static_cast<std::uint8_t>(Errc::unsupported)) << at;
        expect_closed(raw);
    }
    expect_others_served();
}

TEST_F(Hostile, AHelloForAnotherProcessIsRejected) {
    Greeting greeting = dial_greeting(5);
    greeting.hello.peer_incarnation = server_.transport->incarnation() + 1;
    RawSocket raw(server_.endpoint());
    raw.write(greeting);
    std::optional<Greeting> answer;
    ASSERT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::reject);
    EXPECT_EQ(answer->hello.reason, static_cast<std::uint8_t>(Errc::peer_lost));
    expect_closed(raw);
}

TEST_F(Hostile, AHelloForAMissingContextIsRejected) {
    Greeting greeting = dial_greeting(5);
    greeting.hello.peer_context = 9;
    RawSocket raw(server_.endpoint());
    raw.write(greeting);
    std::optional<Greeting> answer;
    ASSERT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::reject);
    EXPECT_EQ(answer->hello.reason, static_cast<std::uint8_t>(Errc::unreachable));
}

TEST_F(Hostile, ALaneOfNoSessionIsRejected) {
    Greeting greeting = dial_greeting(5);
    greeting.hello.kind = na::HelloKind::lane;
    greeting.hello.lane = 1;
    greeting.hello.peer_incarnation = server_.transport->incarnation();
    RawSocket raw(server_.endpoint());
    raw.write(greeting);
    std::optional<Greeting> answer;
    ASSERT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::reject);
    expect_others_served();
}

TEST_F(Hostile, ALaneNeedsTheTokenOfItsSession) {
    RawSocket raw(server_.endpoint());
    raw.write(dial_greeting(5));
    std::optional<Greeting> accepted;
    ASSERT_TRUE(until([&] { return (accepted = raw.take_greeting()).has_value(); }));
    Greeting greeting = dial_greeting(5);
    greeting.hello.kind = na::HelloKind::lane;
    greeting.hello.lane = 1;
    greeting.hello.peer_incarnation = server_.transport->incarnation();
    greeting.token = accepted->token;
    greeting.token[15] ^= std::byte{1};
    RawSocket wrong(server_.endpoint());
    wrong.write(greeting);
    std::optional<Greeting> answer;
    ASSERT_TRUE(until([&] { return (answer = wrong.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::reject);
    greeting.token = accepted->token;
    RawSocket right(server_.endpoint());
    right.write(greeting);
    ASSERT_TRUE(until([&] { return (answer = right.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::accept);
    EXPECT_FALSE(raw.closed());
}

TEST_F(Hostile, ATokenIsValidOnlyForItsPeer) {
    RawSocket raw(server_.endpoint());
    raw.write(dial_greeting(5));
    std::optional<Greeting> accepted;
    ASSERT_TRUE(until([&] { return (accepted = raw.take_greeting()).has_value(); }));
    EXPECT_NE(accepted->token, LaneToken{});
    Greeting lane = dial_greeting(6);
    lane.hello.kind = na::HelloKind::lane;
    lane.hello.lane = 1;
    lane.hello.peer_incarnation = server_.transport->incarnation();
    lane.token = accepted->token;
    RawSocket other(server_.endpoint());
    other.write(lane);
    std::optional<Greeting> answer;
    ASSERT_TRUE(until([&] { return (answer = other.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::reject) << "another identity";
    expect_closed(other);
    // Nor is the token valid after the session has ended.
    raw.hang_up();
    ASSERT_TRUE(until([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    lane.hello.incarnation = 5;
    RawSocket late(server_.endpoint());
    late.write(lane);
    ASSERT_TRUE(until([&] { return (answer = late.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.reason, static_cast<std::uint8_t>(Errc::peer_lost));
    expect_others_served();
}

// The number of connections that wait for a context which makes no progress is bounded.
TEST_F(Hostile, ASleepingContextIsGivenABoundedNumber) {
    Process& sleeper = open_sibling(server_, 1);
    pump_.remove(*sleeper.context);
    constexpr std::size_t waiting_max = na::Inbox<int>::waiting_max;
    std::vector<std::unique_ptr<RawSocket>> crowd;
    Greeting greeting = dial_greeting(5);
    greeting.hello.peer_context = 1;
    for (std::size_t i = 0; i < waiting_max + 3; ++i) {
        crowd.push_back(std::make_unique<RawSocket>(server_.endpoint()));
        crowd.back()->write(greeting);
        (void)pump_.round();
    }
    for (std::size_t i = waiting_max; i < crowd.size(); ++i) {
        std::optional<Greeting> answer;
        ASSERT_TRUE(until([&] { return (answer = crowd[i]->take_greeting()).has_value(); }));
        EXPECT_EQ(answer->hello.reason, static_cast<std::uint8_t>(Errc::overloaded));
    }
    EXPECT_EQ(crowd[waiting_max - 1]->received(), 0u);
    expect_others_served();
    // They are served once the context makes progress again.
    pump_.add(*sleeper.context);
    EXPECT_TRUE(until([&] { return crowd[waiting_max - 1]->received() == Greeting::wire_bytes; }));
    close(sleeper);
}

// Connections that name no context are spread, even if one context sleeps. A lane goes to the context of its session.
TEST_F(Hostile, ConnectionsThatNameNoContextAreSpread) {
    na::TransportOptions spread = listening();
    spread.spread = true;
    Process& first = open("tcp://127.0.0.1:0", spread);
    Process& sleeper = open_sibling(first, 1);
    pump_.remove(*sleeper.context);
    std::vector<std::unique_ptr<RawSocket>> crowd;
    Greeting greeting = dial_greeting(5);
    greeting.hello.peer_context = na::any_context;
    const auto answered = [&] {
        return std::count_if(crowd.begin(), crowd.end(), [](auto& raw) { return raw->received() != 0; });
    };
    for (int i = 0; i < 32; ++i) {
        crowd.push_back(std::make_unique<RawSocket>(first.endpoint()));
        crowd.back()->write(greeting);
    }
    ASSERT_TRUE(until([&] { return answered() == 16; }));
    EXPECT_EQ(first.receiver.count(na::PeerEvent::connected), 16u);
    pump_.add(*sleeper.context);
    ASSERT_TRUE(until([&] { return answered() == 32; }));
    EXPECT_EQ(sleeper.receiver.count(na::PeerEvent::connected), 16u);
    for (auto& raw : crowd) EXPECT_EQ(raw->take_greeting()->hello.kind, na::HelloKind::accept);
    // Connections that end make room for others.
    for (auto& raw : crowd) raw.reset();
    ASSERT_TRUE(until([&] { return first.receiver.count(na::PeerEvent::lost) == 16; }));
    ASSERT_TRUE(until([&] { return sleeper.receiver.count(na::PeerEvent::lost) == 16; }));
    RawSocket lane(first.endpoint());
    greeting.hello.kind = na::HelloKind::lane;
    greeting.hello.lane = 1;
    lane.write(greeting);
    expect_closed(lane);
    EXPECT_EQ(lane.received(), 0u);
    close(sleeper);
}

TEST_F(Hostile, UnknownKindsAndLengthsEndTheSession) {
    log_.allow("malformed frame");
    const std::vector<Frame> bad{{static_cast<FrameKind>(0)},
                                 {static_cast<FrameKind>(200)},
                                 {FrameKind::get},
                                 {FrameKind::unexpected, 0, Errc::ok, 16 * 1024 + 1},
                                 {FrameKind::unexpected, 0, Errc::ok, 0xffffffff},
                                 {FrameKind::expected, 7, Errc::ok, 8},
                                 {FrameKind::lane_wanted, 0, Errc::ok, 8}};
    na::Incarnation incarnation = 100;
    for (const Frame& frame : bad) {
        RawSocket raw = shake(++incarnation);
        raw.write_message(1, 10);
        raw.write(frame);
        expect_closed(raw);
        const auto& last = server_.receiver.events.back();
        EXPECT_EQ(last.event, na::PeerEvent::lost);
        EXPECT_EQ(last.why, Errc::protocol);
        EXPECT_EQ(server_.receiver.messages.back().bytes.size(), 10u) << "what came before is delivered";
        expect_others_served();
    }
}

TEST_F(Hostile, ATruncatedMessageIsNotDelivered) {
    RawSocket raw = shake(5);
    const std::size_t before = server_.receiver.messages.size();
    std::array<std::byte, frame_header_bytes + 100> bytes{};
    Frame{FrameKind::unexpected, 0, Errc::ok, 1000, 1}.encode(std::span(bytes).first<frame_header_bytes>());
    raw.write(bytes);
    (void)pump_.round();
    raw.hang_up();
    ASSERT_TRUE(until([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::peer_lost);
    EXPECT_EQ(server_.receiver.messages.size(), before);
}

// A partial message holds a block. If it is not complete within `keepalive`, its connection ends.
class PartialMessage : public TcpTest {
  protected:
    PartialMessage() : server_(open("tcp://127.0.0.1:0", impatient())), raw_(server_.endpoint()) {
        raw_.write(dial_greeting(5));
        EXPECT_TRUE(until([&] { return raw_.take_greeting().has_value(); }));
        std::vector<std::byte> whole(frame_header_bytes + 1000);
        Frame{FrameKind::unexpected, 0, Errc::ok, 1000, 7}.encode(std::span(whole).first<frame_header_bytes>());
        raw_.write(ConstBytes(whole).first(100));
        rest_.assign(whole.begin() + 100, whole.end());
        for (int i = 0; i < 10; ++i) (void)pump_.round();
    }
    static na::TransportOptions impatient() {
        na::TransportOptions options = listening();
        options.keepalive = Microseconds(200'000);
        return options;
    }
    // A peer that begins a message of `bytes`.
    [[nodiscard]] std::unique_ptr<RawSocket> begin_message(Process& server, na::Incarnation incarnation,
                                                           std::uint32_t bytes) {
        auto raw = std::make_unique<RawSocket>(server.endpoint());
        raw->write(dial_greeting(incarnation));
        EXPECT_TRUE(until([&] { return raw->take_greeting().has_value(); }));
        std::array<std::byte, frame_header_bytes + 8> begin{};
        Frame{FrameKind::unexpected, 0, Errc::ok, bytes, 7}.encode(std::span(begin).first<frame_header_bytes>());
        raw->write(begin);
        for (int i = 0; i < 10; ++i) (void)pump_.round();
        return raw;
    }
    [[nodiscard]] std::size_t lost() const { return server_.receiver.count(na::PeerEvent::lost); }

    Process& server_;
    RawSocket raw_;
    std::vector<std::byte> rest_;
};

TEST_F(PartialMessage, EndsItsConnectionAfterAWhile) {
    EXPECT_TRUE(until([&] { return lost() == 1; }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::timed_out);
    EXPECT_TRUE(until([&] { return raw_.closed(); }));
}

// One that is large has a minute more; the time of a small one does not grow with it.
TEST_F(PartialMessage, ThatIsLargeGivesASmallOneNoMoreTime) {
    na::TransportOptions options = impatient();
    options.message_bytes_max = std::size_t{64} * 1024 * 1024;
    Process& server = open("tcp://127.0.0.1:0", options);
    const auto large = begin_message(server, 6, 64 * 1024 * 1024);
    const auto small = begin_message(server, 7, 1000);
    EXPECT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server.receiver.events.back().why, Errc::timed_out);
    EXPECT_TRUE(until([&] { return small->closed(); }));
    EXPECT_FALSE(large->closed());
}

TEST_F(PartialMessage, DoesNotLastForEverByteByByte) {
    EXPECT_TRUE(until([&] {
        if (lost() == 0 && rest_.size() > 1) {
            raw_.write(ConstBytes(rest_).first(1));
            rest_.erase(rest_.begin());
            pump_.run_for(Microseconds(5000));
        }
        return lost() == 1;
    }));
    EXPECT_GT(rest_.size(), 1u) << "it took its time";
    EXPECT_TRUE(server_.receiver.messages.empty());
}

TEST_F(PartialMessage, IsDeliveredWhenTheRestComes) {
    raw_.write(rest_);
    EXPECT_TRUE(until([&] { return server_.receiver.count_tag(7) == 1; }));
    pump_.run_for(Microseconds(500'000));
    EXPECT_EQ(lost(), 0u);
}

// Time during which the context makes no progress does not count.
TEST_F(PartialMessage, IsDeliveredWhenTheRestWasUnread) {
    raw_.write(rest_);
    Process& other = open("tcp://");
    pump_.remove(*server_.context);
    pump_.run_for(Microseconds(500'000));
    pump_.add(*server_.context);
    EXPECT_TRUE(until([&] { return server_.receiver.count_tag(7) == 1; }));
    EXPECT_EQ(lost(), 0u);
    EXPECT_TRUE(other.receiver.events.empty());
}

TEST_F(Hostile, AReplayedHelloIsAMalformedFrame) {
    log_.allow("malformed frame");
    RawSocket raw = shake(5);
    raw.write(dial_greeting(5));
    expect_closed(raw);
    expect_others_served();
}

TEST_F(Hostile, AReplayedSessionIsANewSession) {
    RawSocket first = shake(5);
    first.write_message(1, 20);
    RawSocket second = shake(5);
    second.write_message(1, 20);
    ASSERT_TRUE(until([&] { return server_.receiver.count_tag(1) == 3; }));
    EXPECT_FALSE(first.closed());
    EXPECT_FALSE(second.closed());
}

TEST_F(Hostile, RandomBytesInEveryStateAffectNoOtherSession) {
    log_.allow("malformed frame");
    Random random(20260101);
    for (int round = 0; round < 150; ++round) {
        const bool greet = random.chance(2);
        std::unique_ptr<RawSocket> raw;
        if (greet) {
            raw = std::make_unique<RawSocket>(shake(1000 + static_cast<na::Incarnation>(round)));
        } else {
            raw = std::make_unique<RawSocket>(server_.endpoint());
        }
        std::vector<std::byte> bytes(1 + random.below(3000));
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
        // Often starts with a header that is almost valid.
        if (random.chance(2) && bytes.size() >= frame_header_bytes) {
            Frame{static_cast<FrameKind>(1 + random.below(3)), 0, Errc::ok,
                  static_cast<std::uint32_t>(random.below(20'000)), 1}
                .encode(std::span<std::byte, frame_header_bytes>(bytes.data(), frame_header_bytes));
        }
        raw->write(bytes);
        (void)pump_.round();
        if (random.chance(3)) raw->reset();
        raw->hang_up();
        for (int i = 0; i < 3; ++i) (void)pump_.round();
    }
    expect_others_served();
}

}  // namespace
}  // namespace cinnabar::tcp
