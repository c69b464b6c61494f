// SPDX-License-Identifier: BSD-3-Clause
// Attackers in the middle, or without a proof: nothing that they send is executed, and other clients are not held up.
#include "support/seeds.hpp"
#include "tls_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>

namespace cinnabar::tcp {
namespace {

class TlsAttack : public TlsTest {
  protected:
    TlsAttack() : server_(serve(quick(alice()))), client_(dial_from(alice())), relay_(server_.endpoint()) {}

    using TlsTest::serve;
    Process& serve(const na::TransportOptions& options) { return open("tcps://127.0.0.1:0", options); }
    static na::TransportOptions quick(na::TlsOptions tls) {
        na::TransportOptions options = with(std::move(tls), true);
        options.hello_timeout = Microseconds(100'000);
        return options;
    }
    void connect_over_relay() {
        there_ = &peer(client_, relay_.endpoint());
        (void)send(client_, *there_, 1);
        ASSERT_TRUE(passing([&] { return server_.receiver.count_tag(1) == 1; }));
    }
    [[nodiscard]] testing::AssertionResult passing(const std::function<bool()>& done) {
        return until([&] {
            relay_.step();
            return done();
        });
    }
    // Other clients are served.
    void expect_others_served() {
        Process& honest = dial_from(alice());
        const std::size_t before = server_.receiver.messages.size();
        (void)send(honest, peer(honest, server_), 99);
        EXPECT_TRUE(until([&] { return server_.receiver.messages.size() > before; }));
        EXPECT_EQ(server_.receiver.messages.back().tag, 99u);
    }
    // Changes the next bytes of the client, so that its message must not arrive.
    void expect_refused(const std::function<std::vector<std::byte>(std::vector<std::byte>)>& change) {
        log_.allow("a record that was changed on the way");
        log_.allow("does not keep to TLS");
        connect_over_relay();
        relay_.change([&](std::vector<std::byte> bytes, bool from_dialler) {
            return from_dialler ? change(std::move(bytes)) : std::move(bytes);
        });
        (void)send(client_, *there_, 2, 200);
        EXPECT_TRUE(passing([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
        EXPECT_EQ(server_.receiver.events.back().why, Errc::protocol);
        EXPECT_TRUE(passing([&] { return client_.receiver.count(na::PeerEvent::lost) == 1; }));
        EXPECT_EQ(server_.receiver.count_tag(2), 0u);
        relay_.change({});
        expect_others_served();
    }

    Process& server_;
    Process& client_;
    Relay relay_;
    na::Peer* there_ = nullptr;
};

TEST_F(TlsAttack, NothingCanBeReadOnTheWay) {
    std::vector<std::byte> seen;
    relay_.change([&](std::vector<std::byte> bytes, bool) {
        seen.insert(seen.end(), bytes.begin(), bytes.end());
        return bytes;
    });
    connect_over_relay();
    (void)send(client_, *there_, 7, 512);
    ASSERT_TRUE(passing([&] { return server_.receiver.count_tag(7) == 1; }));
    std::vector<std::byte> message(512);
    support::fill_pattern(message, 7);
    for (std::size_t at = 0; at + 32 <= message.size(); at += 32) {
        const auto part = message.begin() + static_cast<std::ptrdiff_t>(at);
        EXPECT_EQ(std::search(seen.begin(), seen.end(), part, part + 32), seen.end());
    }
    EXPECT_GT(seen.size(), 512u);
}

TEST_F(TlsAttack, AChangedRecordEndsTheSession) {
    expect_refused([](std::vector<std::byte> bytes) {
        bytes.back() ^= std::byte{1};
        return bytes;
    });
}

TEST_F(TlsAttack, ARecordThatIsSentTwiceEndsTheSession) {
    bool first = true;
    std::vector<std::byte> record;
    log_.allow("a record that was changed on the way");
    connect_over_relay();
    relay_.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (!from_dialler || !std::exchange(first, false)) return bytes;
        std::vector<std::byte> twice = bytes;
        twice.insert(twice.end(), bytes.begin(), bytes.end());
        return twice;
    });
    (void)send(client_, *there_, 2, 200);
    EXPECT_TRUE(passing([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_.receiver.count_tag(2), 1u) << "the second one is not executed";
    expect_others_served();
}

TEST_F(TlsAttack, ARecordThatIsLeftOutEndsTheSession) {
    bool first = true;
    log_.allow("a record that was changed on the way");
    connect_over_relay();
    relay_.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (from_dialler && std::exchange(first, false)) return std::vector<std::byte>();
        return bytes;
    });
    const TestOp& lost = send(client_, *there_, 2, 200);
    ASSERT_TRUE(passing([&] { return lost.done() && !first; }));
    (void)send(client_, *there_, 3, 200);
    EXPECT_TRUE(passing([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_.receiver.count_tag(2) + server_.receiver.count_tag(3), 0u);
    expect_others_served();
}

TEST_F(TlsAttack, RecordsInAnotherOrderEndTheSession) {
    bool first = true;
    std::vector<std::byte> held;
    log_.allow("a record that was changed on the way");
    connect_over_relay();
    relay_.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (!from_dialler) return bytes;
        if (std::exchange(first, false)) {
            held.swap(bytes);
            return bytes;
        }
        bytes.insert(bytes.end(), held.begin(), held.end());
        held.clear();
        return bytes;
    });
    const TestOp& earlier = send(client_, *there_, 2, 200);
    ASSERT_TRUE(passing([&] { return earlier.done() && !first; }));
    (void)send(client_, *there_, 3, 200);
    EXPECT_TRUE(passing([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::protocol);
    EXPECT_EQ(server_.receiver.count_tag(2) + server_.receiver.count_tag(3), 0u);
    expect_others_served();
}

// All that a client sends to one server is repeated to another one, which has the same key.
TEST_F(TlsAttack, ASessionThatIsRepeatedToAnotherServerComesToNothing) {
    log_.allow("does not keep to TLS");
    log_.allow("a record that was changed on the way");
    Process& other = serve(quick(alice()));
    std::vector<std::byte> seen;
    relay_.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (from_dialler) seen.insert(seen.end(), bytes.begin(), bytes.end());
        return bytes;
    });
    connect_over_relay();
    (void)send(client_, *there_, 2, 200);
    ASSERT_TRUE(passing([&] { return server_.receiver.count_tag(2) == 1; }));
    for (Process* const target : {&other, &server_}) {
        RawSocket raw(target->endpoint());
        raw.write(seen);
        EXPECT_TRUE(passing([&] { return raw.closed(); }));
    }
    expect_nothing_came(other);
    EXPECT_EQ(server_.receiver.messages.size(), 2u) << "each message once";
    EXPECT_EQ(server_.receiver.count(na::PeerEvent::lost), 0u);
    expect_others_served();
}

// Whoever holds a key may answer for it, so a relay can lead a client to another holder. It is no part of the session,
// and the two ends know of each other that they hold the key, and no more.
TEST_F(TlsAttack, ARelayLeadsToAnotherHolderOfTheKeyAndLearnsNothing) {
    Process& other = serve(quick(alice()));
    Relay elsewhere(other.endpoint());
    std::vector<std::byte> seen;
    elsewhere.change([&](std::vector<std::byte> bytes, bool) {
        seen.insert(seen.end(), bytes.begin(), bytes.end());
        return bytes;
    });
    (void)send(client_, peer(client_, elsewhere.endpoint()), 7, 512);
    ASSERT_TRUE(until([&] {
        elsewhere.step();
        return other.receiver.count_tag(7) == 1;
    }));
    const na::ProvenIdentity* const proven = other.receiver.messages.front().source->addr().identity();
    ASSERT_TRUE(proven);
    EXPECT_EQ(proven->by, na::ProvenIdentity::By::key);
    EXPECT_EQ(proven->name, "alice");
    std::vector<std::byte> message(512);
    support::fill_pattern(message, 7);
    for (std::size_t at = 0; at + 32 <= message.size(); at += 32) {
        const auto part = message.begin() + static_cast<std::ptrdiff_t>(at);
        EXPECT_EQ(std::search(seen.begin(), seen.end(), part, part + 32), seen.end());
    }
    expect_nothing_came(server_);
    Process& stranger = serve(quick(bob()));
    log_.allow("compare the key files");
    Relay to_stranger(stranger.endpoint());
    Process& misled = dial_from(alice());
    EXPECT_EQ(sent(misled, to_stranger.endpoint(), [&] { to_stranger.step(); }), Errc::permission)
        << "who holds another key";
    expect_nothing_came(stranger);
}

// A certificate names its host.
TEST_F(TlsAttack, ByCertificatesARelayLeadsToNoOtherHost) {
    log_.allow("is not believed: it is for other hosts");
    log_.allow("does not accept this side's certificate");
    authority("ca");
    Process& wanted = serve(quick(certificate("ca", server_of())));
    Process& other = serve(quick(certificate("ca", server_of("other.example"))));
    const na::TlsOptions ann = certificate("ca", {"ann", {}, false});
    Relay to_other(other.endpoint());
    EXPECT_EQ(sent(dial_from(ann), to_other.endpoint(), [&] { to_other.step(); }), Errc::permission);
    expect_nothing_came(other);
    Relay to_wanted(wanted.endpoint());
    EXPECT_EQ(sent(dial_from(ann), to_wanted.endpoint(), [&] { to_wanted.step(); }), Errc::ok);
}

TEST_F(TlsAttack, ACutInMidRecordLosesThePeer) {
    connect_over_relay();
    bool cut = false;
    relay_.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (from_dialler && bytes.size() > 50) {
            bytes.resize(bytes.size() / 2);
            cut = true;
        }
        return bytes;
    });
    (void)send(client_, *there_, 2, 200);
    ASSERT_TRUE(passing([&] { return cut; }));
    relay_.hang_up();
    EXPECT_TRUE(until([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::peer_lost);
    EXPECT_EQ(server_.receiver.count_tag(2), 0u);
    expect_others_served();
}

// Both ends prove the same key, so a relay that changes nothing could make a process talk to itself.
TEST_F(TlsAttack, AProcessIsNotLedBackToItself) {
    log_.allow("a connection of this process to itself: redirected on the way");
    Relay mirror(server_.endpoint());
    EXPECT_EQ(sent(server_, mirror.endpoint(), [&] { mirror.step(); }), Errc::permission);
    EXPECT_GT(mirror.passed(), 0u);
    EXPECT_GT(log_.allowed(), 0u);
    EXPECT_EQ(server_.receiver.count_tag(1), 0u);
    EXPECT_EQ(sent(server_, server_.endpoint()), Errc::ok) << "without a relay it may call itself";
}

// No connection results if a byte of the handshake is changed; every 37th is tried.
TEST_F(TlsAttack, AChangedHandshakeComesToNothing) {
    log_.allow("");
    std::size_t whole = 0;  // size of an unchanged handshake, without the greetings
    for (std::size_t at = 0;; at += 37) {
        Process& client = dial_from(alice());
        std::size_t seen = 0;
        bool changed = false;
        Relay relay(server_.endpoint());
        relay.change([&](std::vector<std::byte> bytes, bool) {
            if (at >= seen && at < seen + bytes.size()) {
                bytes[at - seen] ^= std::byte{0x10};
                changed = true;
            }
            seen += bytes.size();
            return bytes;
        });
        const std::size_t before = server_.receiver.messages.size();
        na::Peer& there = peer(client, relay.endpoint());
        const TestOp& op = send(client, there, 5);
        // If a length was changed, both sides wait until the server's timeout for handshakes.
        ASSERT_TRUE(until([&] {
            relay.step();
            return op.done();
        })) << at;
        if (!changed) break;
        ASSERT_TRUE(until([&] {
            relay.step();
            return op.result != Errc::ok || client.receiver.count(na::PeerEvent::lost) > 0;
        })) << at;
        EXPECT_EQ(server_.receiver.messages.size(), before) << "of a handshake that was changed at byte " << at;
        whole = seen;
        close(client);
    }
    EXPECT_GT(whole, 300u);
}

TEST_F(TlsAttack, GarbageIsDroppedAndOthersServed) {
    test::for_each_seed(
        [&](std::uint64_t seed) {
            std::mt19937_64 random(seed);
            RawSocket raw(server_.endpoint());
            std::vector<std::byte> bytes(1 + random() % 4000);
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
            if (seed % 2 == 0) bytes[0] = std::byte{22};  // claims to be a handshake record
            raw.write(bytes);
            EXPECT_TRUE(until([&] { return raw.closed(); }));
        },
        15);
    expect_others_served();
}

TEST_F(TlsAttack, SilentAndSlowHandshakesAreDroppedAndOthersServed) {
    std::vector<std::unique_ptr<RawSocket>> crowd;
    for (int i = 0; i < 400; ++i) {
        crowd.push_back(std::make_unique<RawSocket>(server_.endpoint()));
        crowd.back()->write(std::vector<std::byte>{std::byte{22}, std::byte{3}, std::byte{1}});
        (void)pump_.round();
    }
    expect_others_served();
    for (const auto& each : crowd) EXPECT_TRUE(until([&] { return each->closed(); }));
    EXPECT_EQ(server_.receiver.count_tag(99), 1u);
}

// Sending a byte now and then does not extend the timeout.
TEST_F(TlsAttack, ADrippedHandshakeHasTheTimeOfAnyOther) {
    RawSocket raw(server_.endpoint());
    std::vector<std::byte> start{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{64}, std::byte{0}, std::byte{1}};
    std::size_t sent = 0;
    const auto begin = std::chrono::steady_clock::now();
    auto last = begin;
    ASSERT_TRUE(until([&] {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(1)) return raw.closed();
        last = now;
        raw.write_if_open(std::vector<std::byte>{sent < start.size() ? start[sent] : std::byte{0}});
        ++sent;
        return raw.closed();
    }));
    EXPECT_GE(sent, 2u);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50)) << "it was not just malformed";
    expect_nothing_came(server_);
    expect_others_served();
}

// An endless handshake message is ended because of its size, long before the timeout.
TEST_F(TlsAttack, AHandshakeWithoutEndIsCutOffByItsBytes) {
    na::TransportOptions patient = with(alice(), true);
    patient.hello_timeout = Microseconds(600'000'000);
    Process& server = serve(patient);
    RawSocket raw(server.endpoint());
    std::vector<std::byte> record(5 + 16'384);
    record[0] = std::byte{22};
    record[1] = std::byte{3};
    record[2] = std::byte{1};
    record[3] = std::byte{0x40};
    std::size_t sent = 0;
    ASSERT_TRUE(until([&] {
        // A ClientHello that claims 131,072 bytes.
        const std::vector<std::byte> head{std::byte{1}, std::byte{2}, std::byte{0}, std::byte{0}};
        if (sent == 0) std::copy(head.begin(), head.end(), record.begin() + 5);
        if (sent > 0) std::fill_n(record.begin() + 5, 4, std::byte{0});
        if (sent < 64 * record.size()) raw.write_if_open(record);
        sent += record.size();
        return raw.closed();
    }));
    expect_nothing_came(server);
}

#ifdef CINNABAR_FULL_TESTS
constexpr int half_handshakes = 10'000;
#else
constexpr int half_handshakes = 1'500;
#endif

// Each half handshake costs the server computation. Clients with a key are served in between, and the memory for the
// others is bounded.
TEST_F(TlsAttack, AFloodOfHalfHandshakesLeavesOthersServed) {
    std::vector<std::byte> hello;
    Process& client = dial_from(alice());
    RawListener listener;
    const std::string plain = listener.endpoint();
    na::Peer& there = peer(client, "tcps" + plain.substr(plain.find("://")));
    (void)send(client, there, 1);
    std::optional<RawSocket> dialled;
    ASSERT_TRUE(until([&] {
        if (!dialled) dialled = listener.accept();
        if (!dialled) return false;
        auto bytes = dialled->take(dialled->received());
        if (bytes) hello.insert(hello.end(), bytes->begin(), bytes->end());
        return hello.size() > 200;
    }));
    dialled.reset();
    std::vector<std::unique_ptr<RawSocket>> crowd;
    for (int i = 0; i < half_handshakes; ++i) {
        crowd.push_back(std::make_unique<RawSocket>(server_.endpoint()));
        crowd.back()->write(hello);
        (void)pump_.round();
        if (i % (half_handshakes / 3) == 499) expect_others_served();
        if (crowd.size() > 600) crowd.erase(crowd.begin());
    }
    for (const auto& each : crowd) EXPECT_TRUE(until([&] { return each->closed(); }));
    EXPECT_EQ(server_.receiver.count_tag(99), 3u);
}

// Partial records are buffered, even if only the header has arrived. They have the same timeout as partial messages.
class TlsPartialRecord : public TlsTest {
  protected:
    static constexpr std::chrono::milliseconds keepalive{200};
    TlsPartialRecord()
        : server_(open("tcps://127.0.0.1:0", impatient())), client_(dial_from(alice())), relay_(server_.endpoint()) {
        there_ = &peer(client_, relay_.endpoint());
        (void)send(client_, *there_, 1);
        EXPECT_TRUE(passing([&] { return server_.receiver.count_tag(1) == 1; }));
    }
    [[nodiscard]] na::TransportOptions impatient() {
        na::TransportOptions options = with(alice(), true);
        options.keepalive = keepalive;
        return options;
    }
    [[nodiscard]] testing::AssertionResult passing(const std::function<bool()>& done) {
        return until([&] {
            relay_.step();
            return done();
        });
    }
    [[nodiscard]] std::size_t lost() const { return server_.receiver.count(na::PeerEvent::lost); }
    // The next record reaches the server up to byte `bytes`; the rest comes slowly or not at all.
    void expect_ended_after(std::size_t bytes, bool drips) {
        std::vector<std::byte> rest;
        relay_.change([&](std::vector<std::byte> came, bool from_dialler) {
            if (!from_dialler) return came;
            const std::size_t part = std::exchange(bytes, 0);
            EXPECT_LE(part, came.size());
            rest.insert(rest.end(), came.begin() + static_cast<std::ptrdiff_t>(part), came.end());
            came.resize(part);
            return came;
        });
        const auto begin = std::chrono::steady_clock::now();
        (void)send(client_, *there_, 2, 4'000);
        std::size_t dripped = 0;
        EXPECT_TRUE(passing([&] {
            const auto due =
                static_cast<std::size_t>((std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(5));
            if (drips && dripped < due && dripped < rest.size())
                relay_.to_target(ConstBytes(rest).subspan(dripped++, 1));
            return lost() == 1;
        }));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, keepalive * 3 / 4);
        EXPECT_EQ(server_.receiver.events.back().why, Errc::timed_out);
        EXPECT_EQ(server_.receiver.count_tag(2), 0u);
        EXPECT_EQ(dripped > 10, drips);
    }

    Process& server_;
    Process& client_;
    Relay relay_;
    na::Peer* there_ = nullptr;
};

TEST_F(TlsPartialRecord, EndsItsSessionAfterAWhile) { expect_ended_after(1'000, false); }

TEST_F(TlsPartialRecord, OfItsHeadAloneEndsTheSession) { expect_ended_after(5, false); }

TEST_F(TlsPartialRecord, DoesNotLastForEverByteByByte) { expect_ended_after(3, true); }

// Each record is complete in time, although at every check some record is incomplete.
TEST_F(TlsPartialRecord, OfAnotherRecordEachTimeEndsNothing) {
    std::vector<std::byte> held;
    relay_.change([&](std::vector<std::byte> came, bool from_dialler) {
        if (!from_dialler) return came;
        held.insert(held.end(), came.begin(), came.end());
        std::vector<std::byte> passed(held.begin(), held.end() - 10);
        held.erase(held.begin(), held.end() - 10);
        return passed;
    });
    constexpr unsigned count = 10;
    for (unsigned tag = 2; tag < 2 + count; ++tag) {
        (void)send(client_, *there_, tag, 300);
        const auto next = std::chrono::steady_clock::now() + keepalive / 4;
        ASSERT_TRUE(passing([&] { return std::chrono::steady_clock::now() >= next; }));
    }
    EXPECT_EQ(lost(), 0u);
    EXPECT_EQ(server_.receiver.messages.size(), count) << "but for the last one";
}

}  // namespace
}  // namespace cinnabar::tcp
