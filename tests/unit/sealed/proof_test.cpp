// SPDX-License-Identifier: BSD-3-Clause
// Who gets into a sealed session, and what strangers may hold before that.
#include "between.hpp"
#include "sealed/pending_proofs.hpp"
#include "security/revocations.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::tls {
namespace {

class SealedProof : public SealedTest {
  protected:
    // What a dial that the other side, or this one, refuses tells the error of a call.
    std::string why_refused(tcp::Process& client, const tcp::Process& server) {
        na::Peer& there = peer(client, server.endpoint());
        there.acquire();
        const tcp::TestOp& op = send(client, there, 1);
        EXPECT_TRUE(until([&] { return op.done(); }));
        EXPECT_EQ(op.result, Errc::permission);
        std::string why = there.lost_because() ? there.lost_because() : "";
        there.release();
        return why;
    }
};

TEST_F(SealedProof, BothSidesKnowWhoTheOtherIs) {
    tcp::Process& server = serve(alice());
    tcp::Process& client = dial_from(alice());
    connect(client, peer(client, server), server);
    const na::ProvenIdentity* const seen = server.only_peer().addr().identity();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->by, na::ProvenIdentity::By::key);
    EXPECT_EQ(seen->name, "alice");
    EXPECT_TRUE(server.transport->caps().proves_peers);
    EXPECT_NE(server.transport->diagnosis().find("AES-128-GCM"), std::string::npos) << server.transport->diagnosis();
}

TEST_F(SealedProof, ByCertificates) {
    authority("ca");
    tcp::Process& server = serve(certificate("ca", server_of()));
    tcp::Process& client = dial_from(certificate("ca", {"ann", {}, false}));
    connect(client, peer(client, server), server);
    const na::ProvenIdentity* const seen = server.only_peer().addr().identity();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->by, na::ProvenIdentity::By::certificate);
    EXPECT_EQ(seen->name, "ann");
    log_.allow("has a certificate that is not believed");
    log_.allow("does not accept this side's certificate");
    tcp::Process& elsewhere = serve(certificate("ca", server_of("10.9.8.7")));
    EXPECT_EQ(sent(client, elsewhere.endpoint()), Errc::permission) << "it is for another host";
    expect_nothing_came(elsewhere);
}

// The second and the third session are resumed with tickets, which come before the greeting of the server.
TEST_F(SealedProof, ByCertificatesItConnectsAgainAndAgain) {
    authority("ca");
    tcp::Process& server = serve(certificate("ca", server_of()));
    tcp::Process& client = dial_from(certificate("ca", {"ann", {}, false}));
    na::Peer& there = peer(client, server);
    there.acquire();
    for (unsigned times = 1; times <= 3; ++times) {
        (void)send(client, there, times);
        ASSERT_TRUE(until([&] { return server.receiver.count_tag(times) == 1; })) << times;
        const na::ProvenIdentity* const seen = server.receiver.messages.back().source->addr().identity();
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->name, "ann");
        {
            const na::Context::Ownership own(*client.context);
            client.port().disconnect(there);
        }
        ASSERT_TRUE(until([&] {
            return server.receiver.count(na::PeerEvent::lost) == times &&
                   client.receiver.count(na::PeerEvent::lost) == times;
        })) << times;
    }
    there.release();
}

TEST_F(SealedProof, ACertificateOfAnotherAuthorityIsRefused) {
    log_.allow("has a certificate that is not believed");
    log_.allow("does not accept this side's certificate");
    authority("ca");
    authority("other");
    tcp::Process& server = serve(certificate("ca", server_of()));
    na::TlsOptions stranger = certificate("other", {"ann", {}, false});
    stranger.ca_file = folder_.at("ca") + "/ca.pem";  // it believes the server
    EXPECT_EQ(sent(dial_from(stranger), server.endpoint()), Errc::permission);
    expect_nothing_came(server);
}

TEST_F(SealedProof, AnotherKeyOfThatNameIsRefused) {
    log_.allow("another");
    tcp::Process& server = serve(alice());
    tcp::Process& client = dial_from({.key_file = key("alice", tcp::hex_of_bob)});
    EXPECT_EQ(sent(client, server.endpoint()), Errc::permission);
    EXPECT_EQ(log_.allowed(), 2u) << "both sides say so";
    expect_nothing_came(server);
}

TEST_F(SealedProof, AKeyThatIsUnknownIsRefused) {
    log_.allow("proves no key that is known here");
    log_.allow("knows neither a key nor a certificate of this side");
    tcp::Process& server = serve(alice());
    EXPECT_EQ(sent(dial_from(bob()), server.endpoint()), Errc::permission);
    expect_nothing_came(server);
}

// For the error of the call. A server refuses a key in the handshake, and a certificate after the client has finished
// it.
TEST_F(SealedProof, ADialThatIsRefusedKnowsWhy) {
    log_.allow("key");
    log_.allow("certificate");
    authority("ca");
    authority("other");
    na::TlsOptions stranger = certificate("other", {"ann", {}, false});
    stranger.ca_file = folder_.at("ca") + "/ca.pem";
    tcp::Process& by_key = serve(alice());
    EXPECT_TRUE(
        why_refused(dial_from(bob()), by_key).starts_with("knows neither a key nor a certificate of this side"));
    tcp::Process& other_key = dial_from({.key_file = key("alice", tcp::hex_of_bob)});
    EXPECT_TRUE(why_refused(other_key, by_key).starts_with("does not accept this side's key"));
    tcp::Process& by_certificate = serve(certificate("ca", server_of()));
    EXPECT_TRUE(why_refused(dial_from(stranger), by_certificate)
                    .starts_with("does not accept this side's certificate: no CA in its file of ca has signed it"));
    tcp::Process& elsewhere = serve(certificate("ca", server_of("10.9.8.7")));
    EXPECT_TRUE(why_refused(dial_from(certificate("ca", {"bob", {}, false})), elsewhere)
                    .starts_with("has a certificate that is not believed: it is for other hosts"));
}

TEST_F(SealedProof, CertificatesHaveTheirTimeAndMayBeRevoked) {
    log_.allow("certificate");
    authority("ca");
    const tools::security::SystemTime now = std::chrono::system_clock::now();
    const std::chrono::hours hour(1);
    const tools::security::Validity over{now - 2 * hour, now - hour};
    const tools::security::Validity later{now + hour, now + 2 * hour};
    na::TlsOptions server_side = certificate("ca", server_of());
    const na::TlsOptions ann = certificate("ca", {"ann", {}, false});
    tcp::Process& expired = serve(certificate("ca", server_of(), over));
    EXPECT_TRUE(
        why_refused(dial_from(ann), expired).starts_with("has a certificate that is not believed: it has expired"));
    ASSERT_TRUE(tools::security::revoke(folder_.at("ca"), {ann.certificate_file}));
    server_side.crl_file = folder_.at("ca") + "/ca.crl";
    tcp::Process& server = serve(server_side);
    EXPECT_TRUE(why_refused(dial_from(ann), server).starts_with("says that this side's certificate was revoked"));
    EXPECT_TRUE(
        why_refused(dial_from(certificate("ca", {"bob", {}, false}, over)), server)
            .starts_with("does not accept this side's certificate: it, or the list of its CA there, has expired"));
    EXPECT_TRUE(why_refused(dial_from(certificate("ca", {"carl", {}, false}, later)), server)
                    .starts_with("does not accept this side's certificate: its time has not come yet"));
    expect_nothing_came(server);
}

TEST_F(SealedProof, ASessionEndsWhoseKeyWasTakenAwayAndOthersGoOn) {
    log_.allow("proved a key or certificate that was withdrawn: its session ends");
    const std::string alices = std::string("alice:") + tcp::hex_of_alice;
    const std::string bobs = std::string("bob:") + tcp::hex_of_bob;
    const std::string file = support::put_key(folder_, "both", alices + "\n" + bobs);
    tcp::Process& server = serve({.key_file = file});
    tcp::Process& first = dial_from(alice());
    connect(first, peer(first, server), server);
    tcp::Process& second = dial_from(bob());
    na::Peer& there = peer(second, server);
    connect(second, there, server);
    std::filesystem::rename(support::put_key(folder_, "next", bobs), file);
    EXPECT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server.receiver.events.back().why, Errc::permission);
    EXPECT_TRUE(until([&] { return first.receiver.count(na::PeerEvent::lost) == 1; }));
    (void)send(second, there, 77);
    EXPECT_TRUE(until([&] { return server.receiver.count_tag(77) == 1; }));
}

// Neither side falls back to plain messages.
TEST_F(SealedProof, APlainDialIsNotServed) {
    tcp::Process& server = serve(alice());
    tcp::Process& client = open("tcp://", {});
    na::Peer& there = peer(client, plain_of(server.endpoint()));
    (void)send(client, there, 1);
    ASSERT_TRUE(until([&] { return client.receiver.count(na::PeerEvent::lost) == 1; }));
    expect_nothing_came(server);
}

TEST_F(SealedProof, ADialOfAPlainPortTimesOut) {
    tcp::Process& server = open("tcp://127.0.0.1:0");
    na::TransportOptions hasty = with(alice(), false);
    hasty.connect_timeout = Microseconds(100'000);
    tcp::Process& client = open("sealed_tcp://", hasty);
    EXPECT_EQ(sent(client, sealed_of(server.endpoint())), Errc::timed_out);
}

TEST_F(SealedProof, SchemesAreNotMixed) {
    tcp::Process& server = serve(alice());
    tcp::Process& plain = open("tcp://", {});
    EXPECT_TRUE(server.endpoint().starts_with("sealed_tcp://"));
    EXPECT_TRUE(server.transport->reaches(server.endpoint()));
    EXPECT_FALSE(plain.transport->reaches(server.endpoint()));
    EXPECT_FALSE(server.transport->reaches(plain_of(server.endpoint())));
    EXPECT_FALSE(server.transport->reaches("sealed_tcpx://127.0.0.1:1"));
}

TEST_F(SealedProof, ASilentPeerIsDroppedAfterTheTimeOfAGreeting) {
    na::TransportOptions impatient = with(alice(), true);
    impatient.hello_timeout = Microseconds(300'000);
    tcp::Process& server = open("sealed_tcp://127.0.0.1:0", impatient);
    tcp::Process& stranger = open("tcp://", {});
    // The first bytes of a handshake, whose rest never comes.
    const Message begun{std::byte{1}, {}, {}, {}, {}, {}, {}, {}, std::byte{22}, std::byte{3}, std::byte{1}};
    send_below(stranger, peer(stranger, plain_of(server.endpoint())), begun);
    ASSERT_TRUE(until([&] { return stranger.receiver.count(na::PeerEvent::lost) == 1; }));
    expect_nothing_came(server);
    EXPECT_EQ(sent(dial_from(alice()), server.endpoint()), Errc::ok);
}

// An endless handshake message is ended because of its size, long before the timeout.
TEST_F(SealedProof, AHandshakeWithoutEndIsCutOffByItsBytes) {
    constexpr std::size_t record_bytes = 8000;
    constexpr unsigned messages_max = 64;
    na::TransportOptions patient = with(alice(), true);
    patient.hello_timeout = Microseconds(600'000'000);
    tcp::Process& server = open("sealed_tcp://127.0.0.1:0", patient);
    tcp::Process& stranger = open("tcp://", {});
    na::Peer& there = peer(stranger, plain_of(server.endpoint()));
    Message message(envelope_bytes + 5 + record_bytes);
    message[0] = static_cast<std::byte>(Envelope::handshake);
    // The head of a record of 8,000 bytes.
    const Message head{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{0x1f}, std::byte{0x40}};
    std::copy(head.begin(), head.end(), message.begin() + envelope_bytes);
    // A ClientHello that claims 131,072 bytes.
    message[envelope_bytes + 5] = std::byte{1};
    message[envelope_bytes + 6] = std::byte{2};
    unsigned count = 0;
    ASSERT_TRUE(until([&] {
        if (stranger.receiver.count(na::PeerEvent::lost) > 0) return true;
        if (count == messages_max || (count > 0 && !ops_.back().done())) return false;
        send_below(stranger, there, message);
        if (count++ == 0) std::fill_n(message.begin() + envelope_bytes + 5, 2, std::byte{0});
        return false;
    })) << "after "
        << count << " messages";
    EXPECT_GT(count, 64u * 1024 / record_bytes) << "less than the limit";
    expect_nothing_came(server);
    EXPECT_EQ(sent(dial_from(alice()), server.endpoint()), Errc::ok);
}

TEST_F(SealedProof, AFloodOfHalfHandshakesLeavesOthersServed) {
    constexpr std::size_t more = 40;
    na::TransportOptions patient = with(alice(), true);
    patient.hello_timeout = Microseconds(600'000'000);
    tcp::Process& server = open("sealed_tcp://127.0.0.1:0", patient);
    // The first bytes of a handshake, whose rest never comes.
    const Message begun{std::byte{1},  {},           {},           {}, {}, {}, {}, {},
                        std::byte{22}, std::byte{3}, std::byte{1}, {}, {}, {}, {}, {}};
    constexpr std::uint32_t begun_bytes = 11;
    std::vector<tcp::RawSocket> crowd;
    for (std::size_t i = 0; i < PendingProofs::pending_max + more; ++i) {
        crowd.emplace_back(plain_of(server.endpoint()));
        crowd.back().write(tcp::dial_greeting(1000 + i));
        crowd.back().write(tcp::Frame{tcp::FrameKind::unexpected, 0, Errc::ok, begun_bytes, 0}, {}, begun);
        (void)pump_.round();
    }
    const auto dropped = [&crowd] {
        return static_cast<std::size_t>(
            std::count_if(crowd.begin(), crowd.end(), [](tcp::RawSocket& each) { return each.closed(); }));
    };
    ASSERT_TRUE(until([&] { return dropped() == more; })) << dropped();
    EXPECT_FALSE(crowd.back().closed()) << "the oldest go first";
    EXPECT_EQ(sent(dial_from(alice()), server.endpoint()), Errc::ok);
    EXPECT_EQ(dropped(), more + 1) << "it took a place for a moment";
}

TEST_F(SealedProof, StrangersTakeNoPlaceOfThoseWhoProveThemselves) {
    na::TransportOptions only_one = with(alice(), true);
    only_one.connections_max = 1;
    tcp::Process& server = open("sealed_tcp://127.0.0.1:0", only_one);
    tcp::Process& stranger = open("tcp://", {});
    const Message begun{std::byte{1}, {}, {}, {}, {}, {}, {}, {}, std::byte{22}, std::byte{3}, std::byte{1}};
    send_below(stranger, peer(stranger, plain_of(server.endpoint())), begun);
    ASSERT_TRUE(until([&] { return ops_.back().done(); }));
    EXPECT_EQ(ops_.back().result, Errc::ok);
    EXPECT_EQ(sent(dial_from(alice()), server.endpoint()), Errc::ok);
    EXPECT_EQ(sent(dial_from(alice()), server.endpoint()), Errc::overloaded);
}

// The messages of a peer that does not read wait in the transport below, but do not take all its room for messages.
TEST_F(SealedProof, WhoReadsNothingLeavesRoomForOthers) {
    constexpr std::size_t messages_max = 4'000;  // more than sockets hold
    na::TransportOptions few = with(alice(), true);
    few.send_slots_max = 64;
    tcp::Process& server = open("sealed_tcp://127.0.0.1:0", few);
    tcp::Process& silent = dial_from(alice());
    connect(silent, peer(silent, server), server);
    na::Peer& to_silent = server.only_peer();
    tcp::Process& other = dial_from(alice());
    na::Peer& there = peer(other, server);
    connect(other, there, server);
    pump_.remove(*silent.context);
    std::size_t sent_to_silent = 0;
    for (na::Message* room = nullptr; (room = server.port().take_message()) != nullptr; ++sent_to_silent) {
        server.port().give_message(*room);
        ASSERT_LT(sent_to_silent, messages_max) << "the sockets take them all";
        (void)send(server, to_silent, 5, 16'000);
        (void)pump_.round();
    }
    support::GuardedBuffer target(64, 9);
    std::vector<std::byte> mine(64);
    const tcp::Lent& lent = lend(server, {target.segment()});
    const auto local = registered(other, {{mine.data(), mine.size()}});
    const tcp::TestOp& get = rma(other, there, na::OpKind::get, *local, lent, mine.size());
    ASSERT_TRUE(until([&] { return get.done(); }));
    EXPECT_EQ(get.result, Errc::ok) << to_string(get.result);
    EXPECT_TRUE(support::holds_pattern(mine, 9));
    pump_.add(*silent.context);
    EXPECT_TRUE(until([&] { return silent.receiver.count_tag(5) == sent_to_silent; }));
}

// Memory of the transport below is never lent: a stranger cannot even ask for it.
TEST_F(SealedProof, AccessesBelowAreRefused) {
    tcp::Process& server = serve(alice());
    support::GuardedBuffer target(64, 9);
    const tcp::Lent& lent = lend(server, {target.segment()});
    tcp::Process& stranger = open("tcp://", {});
    std::vector<std::byte> mine(64, std::byte{1});
    const auto local = registered(stranger, {{mine.data(), mine.size()}});
    const tcp::TestOp& put =
        rma(stranger, peer(stranger, plain_of(server.endpoint())), na::OpKind::put, *local, lent, mine.size());
    ASSERT_TRUE(until([&] { return put.done(); }));
    EXPECT_NE(put.result, Errc::ok);
    EXPECT_TRUE(target.holds(9));
}

TEST(PendingProofs, TheSourceWithTheMostMakesRoom) {
    PendingProofs proofs;
    std::array<std::byte, PendingProofs::pending_max> sessions{};
    const auto session = [&](std::size_t i) -> SealedSession& { return reinterpret_cast<SealedSession&>(sessions[i]); };
    std::array<PendingProof*, PendingProofs::pending_max> entered{};
    EXPECT_EQ(proofs.to_drop(), nullptr);
    entered[0] = proofs.enter(session(0), source_of_endpoint("tcp://10.0.0.1:5"));
    for (std::size_t i = 1; i < entered.size(); ++i) {
        entered[i] = proofs.enter(session(i), source_of_endpoint("tcp://10.0.0.2:" + std::to_string(i)));
    }
    EXPECT_TRUE(proofs.full());
    EXPECT_EQ(proofs.enter(session(0), 7), nullptr);
    EXPECT_EQ(proofs.to_drop(), &session(1)) << "the oldest of the source that has the most";
    for (PendingProof* each : entered) proofs.leave(*each);
}

TEST(PendingProofs, ASourceIsAHostWhateverItsPort) {
    EXPECT_EQ(source_of_endpoint("tcp://10.0.0.2:5"), source_of_endpoint("verbs://10.0.0.2:6"));
    EXPECT_NE(source_of_endpoint("tcp://10.0.0.2:5"), source_of_endpoint("tcp://10.0.0.3:5"));
    EXPECT_EQ(source_of_endpoint("tcp://[2001:db8::1]:5"), source_of_endpoint("tcp://[2001:db8::2]:5"));
    EXPECT_NE(source_of_endpoint("tcp://[2001:db8::1]:5"), source_of_endpoint("tcp://[2001:db9::1]:5"));
    EXPECT_EQ(source_of_endpoint(""), source_of_endpoint(""));
}

}  // namespace
}  // namespace cinnabar::tls
