// SPDX-License-Identifier: BSD-3-Clause
// Bytes that no peer of ours would send: each connection pays for itself alone.
#include "fixture.hpp"
#include "raw_socket.hpp"

#include <cinnabar/base/random.hpp>

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
        raw.write(dial_hello(incarnation));
        std::optional<na::Hello> answer;
        EXPECT_TRUE(until([&] { return (answer = raw.take_hello()).has_value(); }));
        EXPECT_EQ(answer->kind, na::HelloKind::accept);
        return raw;
    }
    // The well-behaved client is still served.
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
    std::array<std::byte, na::hello_bytes> hello{};
    dial_hello(5).encode(hello);
    half.write(ConstBytes(hello).first(47));
    expect_closed(silent);
    expect_closed(half);
    EXPECT_EQ(server_.receiver.events.size(), 1u) << "nobody hears of them";
    expect_others_served();
}

TEST_F(Hostile, ACrowdOfSilentConnectionsKeepsNobodyOut) {
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

TEST_F(Hostile, WhatIsNoHelloIsDropped) {
    std::array<std::byte, na::hello_bytes> bytes{};
    for (const std::size_t at : {0u, 4u, 5u}) {  // magic, version, kind
        dial_hello(5).encode(bytes);
        bytes[at] = std::byte{0xee};
        RawSocket raw(server_.endpoint());
        raw.write(bytes);
        expect_closed(raw);
        EXPECT_EQ(raw.received(), 0u);
    }
    RawSocket zero(server_.endpoint());
    zero.write(dial_hello(0));
    expect_closed(zero);
    RawSocket http(server_.endpoint());
    http.write(as_bytes("GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n"));
    expect_closed(http);
    expect_others_served();
}

TEST_F(Hostile, AHelloThatMeansAnotherProcessIsTurnedAway) {
    na::Hello hello = dial_hello(5);
    hello.peer_incarnation = server_.transport->incarnation() + 1;
    RawSocket raw(server_.endpoint());
    raw.write(hello);
    std::optional<na::Hello> answer;
    ASSERT_TRUE(until([&] { return (answer = raw.take_hello()).has_value(); }));
    EXPECT_EQ(answer->kind, na::HelloKind::reject);
    EXPECT_EQ(answer->reason, static_cast<std::uint8_t>(Errc::peer_lost));
    expect_closed(raw);
}

TEST_F(Hostile, AHelloForAContextThatIsNotThereIsTurnedAway) {
    na::Hello hello = dial_hello(5);
    hello.peer_context = 9;
    RawSocket raw(server_.endpoint());
    raw.write(hello);
    std::optional<na::Hello> answer;
    ASSERT_TRUE(until([&] { return (answer = raw.take_hello()).has_value(); }));
    EXPECT_EQ(answer->kind, na::HelloKind::reject);
    EXPECT_EQ(answer->reason, static_cast<std::uint8_t>(Errc::unreachable));
}

TEST_F(Hostile, ALaneOfNoSessionIsTurnedAway) {
    na::Hello hello = dial_hello(5);
    hello.kind = na::HelloKind::lane;
    hello.lane = 1;
    hello.peer_incarnation = server_.transport->incarnation();
    RawSocket raw(server_.endpoint());
    raw.write(hello);
    std::optional<na::Hello> answer;
    ASSERT_TRUE(until([&] { return (answer = raw.take_hello()).has_value(); }));
    EXPECT_EQ(answer->kind, na::HelloKind::reject);
    expect_others_served();
}

TEST_F(Hostile, ALaneNeedsTheTokenOfItsSession) {
    RawSocket raw(server_.endpoint());
    raw.write(dial_hello(5));
    std::optional<na::Hello> accepted;
    ASSERT_TRUE(until([&] { return (accepted = raw.take_hello()).has_value(); }));
    na::Hello hello = dial_hello(5);
    hello.kind = na::HelloKind::lane;
    hello.lane = 1;
    hello.peer_incarnation = server_.transport->incarnation();
    hello.nonce = accepted->nonce + 1;
    RawSocket wrong(server_.endpoint());
    wrong.write(hello);
    std::optional<na::Hello> answer;
    ASSERT_TRUE(until([&] { return (answer = wrong.take_hello()).has_value(); }));
    EXPECT_EQ(answer->kind, na::HelloKind::reject);
    hello.nonce = accepted->nonce;
    RawSocket right(server_.endpoint());
    right.write(hello);
    ASSERT_TRUE(until([&] { return (answer = right.take_hello()).has_value(); }));
    EXPECT_EQ(answer->kind, na::HelloKind::accept);
    EXPECT_FALSE(raw.closed());
}

TEST_F(Hostile, UnknownKindsAndAbsurdLengthsEndThatSession) {
    log_.allow("bytes that make no sense");
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

TEST_F(Hostile, AMessageCutShortIsNoMessage) {
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

TEST_F(Hostile, AReplayedHelloIsAFrameThatMakesNoSense) {
    log_.allow("bytes that make no sense");
    RawSocket raw = shake(5);
    raw.write(dial_hello(5));
    expect_closed(raw);
    expect_others_served();
}

TEST_F(Hostile, AReplayedSessionIsASessionOfItsOwn) {
    RawSocket first = shake(5);
    first.write_message(1, 20);
    RawSocket second = shake(5);
    second.write_message(1, 20);
    ASSERT_TRUE(until([&] { return server_.receiver.count_tag(1) == 3; }));
    EXPECT_FALSE(first.closed());
    EXPECT_FALSE(second.closed());
}

TEST_F(Hostile, RandomBytesInEveryStateHurtNobodyElse) {
    log_.allow("bytes that make no sense");
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
        // Often a header that is nearly right.
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
