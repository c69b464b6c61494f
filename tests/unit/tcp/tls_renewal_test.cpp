// SPDX-License-Identifier: BSD-3-Clause
// Keys and certificates that change while a transport is open, and session keys that change with the traffic.
#include "security/revocations.hpp"
#include "tls_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::tcp {
namespace {

class TlsRenewal : public TlsTest {
  protected:
    // Replaces the file with a rename, as an editor does.
    void replace(const std::string& path, const std::string& lines) {
        const std::string next = support::put_key(folder_, "next" + std::to_string(++files_), lines);
        std::filesystem::rename(next, path);
    }
    // The number of sessions that ended because their proof is no longer valid.
    static std::size_t ended(const Process& server) {
        return static_cast<std::size_t>(std::ranges::count_if(server.receiver.events, [](const auto& seen) {
            return seen.event == na::PeerEvent::lost && seen.why == Errc::permission;
        }));
    }
    static std::string line(const std::string& name, const std::string& hex) { return name + ":" + hex; }
    // Dials again until the outcome is `wanted`.
    [[nodiscard]] testing::AssertionResult becomes(Errc wanted, const na::TlsOptions& tls, const Process& server) {
        Errc last = Errc::ok;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (std::chrono::steady_clock::now() < end) {
            Process& client = dial_from(tls);
            const TestOp& op = send(client, peer(client, server), 3);
            const std::size_t before = server.receiver.messages.size();
            (void)until([&] {
                return op.done() && (op.result != Errc::ok || server.receiver.messages.size() > before ||
                                     client.receiver.count(na::PeerEvent::lost) > 0);
            });
            last = client.receiver.count(na::PeerEvent::lost) > 0 ? client.receiver.events.back().why : op.result;
            close(client);
            if (last == wanted) return testing::AssertionSuccess();
        }
        return testing::AssertionFailure() << to_string(last);
    }
};

TEST_F(TlsRenewal, KeysComeAndGoWithoutANewStart) {
    log_.allow("");
    const std::string file = key("alice", hex_of_alice);
    Process& server = serve({.key_file = file});
    Process& early = dial_from(alice());
    na::Peer& there = peer(early, server);
    connect(early, there, server);
    EXPECT_TRUE(becomes(Errc::permission, bob(), server));
    replace(file, line("alice", hex_of_alice) + "\n" + line("bob", hex_of_bob));
    EXPECT_TRUE(becomes(Errc::ok, bob(), server)) << "it was added";
    replace(file, line("bob", hex_of_bob));
    EXPECT_TRUE(becomes(Errc::permission, alice(), server)) << "it was taken away";
    EXPECT_TRUE(until([&] { return early.receiver.count(na::PeerEvent::lost) == 1; })) << "and what began with it ends";
    EXPECT_GE(ended(server), 1u) << "others of alice's that were about to end among them";
    EXPECT_EQ(sent(early, server.endpoint()), Errc::permission) << "who dials again hears why";
}

// More sessions than one round checks.
TEST_F(TlsRenewal, SessionsEndWhoseKeyWasTakenAwayAndOthersGoOn) {
    log_.allow("proved a key or certificate that was withdrawn: its session ends");
    const std::string file =
        support::put_key(folder_, "both", line("alice", hex_of_alice) + "\n" + line("bob", hex_of_bob));
    Process& server = serve({.key_file = file});
    const na::TlsOptions by_alice = alice();
    constexpr unsigned count = 20;
    for (unsigned i = 0; i < count; ++i) {
        Process& client = dial_from(by_alice);
        connect(client, peer(client, server), server);
    }
    Process& other = dial_from(bob());
    na::Peer& there = peer(other, server);
    connect(other, there, server);
    // Writing the same key again ends no session; another key under its name does.
    replace(file, line("bob", hex_of_bob) + "\n" + line("alice", hex_of_bob));
    EXPECT_TRUE(until([&] { return ended(server) == count; }));
    (void)send(other, there, 77);
    EXPECT_TRUE(until([&] { return server.receiver.count_tag(77) == 1; }));
    EXPECT_EQ(server.receiver.count(na::PeerEvent::lost), count);
}

TEST_F(TlsRenewal, SessionsEndWhoseCertificateWasRevokedAndOthersGoOn) {
    log_.allow("proved a key or certificate that was withdrawn: its session ends");
    authority("ca");
    na::TlsOptions server_side = certificate("ca", server_of());
    server_side.crl_file = folder_.at("ca") + "/ca.crl";
    const na::TlsOptions ann = certificate("ca", {"ann", {}, false});
    Process& server = serve(server_side);
    Process& first = dial_from(ann);
    connect(first, peer(first, server), server);
    Process& second = dial_from(certificate("ca", {"bob", {}, false}));
    na::Peer& there = peer(second, server);
    connect(second, there, server);
    ASSERT_TRUE(tools::security::revoke(folder_.at("ca"), {ann.certificate_file}));
    EXPECT_TRUE(until([&] { return ended(server) == 1; }));
    (void)send(second, there, 77);
    EXPECT_TRUE(until([&] { return server.receiver.count_tag(77) == 1; }));
    EXPECT_EQ(server.receiver.count(na::PeerEvent::lost), 1u);
    // The first client dials again with the ticket that it still has.
    log_.allow("has a certificate that was revoked");
    log_.allow("says that this side's certificate was revoked");
    EXPECT_EQ(sent(first, server.endpoint()), Errc::permission);
}

// The handshake begins with a valid key that is invalid by its end.
TEST_F(TlsRenewal, AHandshakeIsNotSlowEnoughToKeepAKey) {
    log_.allow("");
    const std::string file = key("alice", hex_of_alice);
    na::TransportOptions patient = with({.key_file = file}, true);
    patient.hello_timeout = Microseconds(30'000'000);
    Process& server = open("tcps://127.0.0.1:0", patient);
    Relay relay(server.endpoint());
    std::vector<std::byte> held;
    bool holding = true;
    unsigned flights = 0;
    relay.change([&](std::vector<std::byte> came, bool from_dialler) {
        if (!from_dialler || !holding || ++flights == 1) return came;
        held.insert(held.end(), came.begin(), came.end());
        return std::vector<std::byte>();
    });
    Process& slow = dial_from(alice());
    (void)send(slow, peer(slow, relay.endpoint()), 5);
    ASSERT_TRUE(until([&] {
        relay.step();
        return !held.empty();
    }));
    replace(file, line("bob", hex_of_bob));
    EXPECT_TRUE(becomes(Errc::ok, bob(), server));
    EXPECT_EQ(ended(server), 0u);
    holding = false;
    relay.to_target(held);
    EXPECT_TRUE(until([&] {
        relay.step();
        return ended(server) == 1;
    }));
}

TEST_F(TlsRenewal, UnusableFilesLeaveTheOldOnesInUse) {
    log_.allow("new keys or certificates cannot be used");
    const std::string file = key("alice", hex_of_alice);
    Process& server = serve({.key_file = file});
    replace(file, "half a li");
    EXPECT_TRUE(until([&] { return log_.allowed() > 0; }));
    log_.allow("");
    EXPECT_TRUE(becomes(Errc::ok, alice(), server));
    replace(file, line("bob", hex_of_bob));
    EXPECT_TRUE(becomes(Errc::ok, bob(), server));
}

TEST_F(TlsRenewal, ACertificateIsReplacedWithoutANewStart) {
    log_.allow("");
    authority("ca");
    const na::TlsOptions expired = certificate("ca", server_of(),
                                               {std::chrono::system_clock::now() - std::chrono::hours(48),
                                                std::chrono::system_clock::now() - std::chrono::hours(24)});
    const na::TlsOptions good = certificate("ca", server_of());
    const na::TlsOptions client = certificate("ca", {"ann", {}, false});
    Process& server = serve(expired);
    EXPECT_TRUE(becomes(Errc::permission, client, server));
    // Between the two renames, the key does not match the certificate.
    std::filesystem::rename(good.certificate_file, expired.certificate_file);
    std::filesystem::rename(good.private_key_file, expired.private_key_file);
    EXPECT_TRUE(becomes(Errc::ok, client, server));
}

// The number of records of that size in one direction, as seen on the network.
std::size_t records_of(ConstBytes way, std::size_t bytes) {
    std::size_t found = 0;
    while (way.size() >= 5) {
        const auto length = std::to_integer<std::size_t>(way[3]) << 8 | std::to_integer<std::size_t>(way[4]);
        found += length == bytes ? 1 : 0;
        way = way.subspan(std::min(5 + length, way.size()));
    }
    return found;
}

TEST_F(TlsRenewal, KeysChangeWithTheBytesThatAreSent) {
    constexpr std::size_t key_update_record = 5 + 1 + 16;  // the message, its type, the tag
    constexpr unsigned count = 2'000;
    constexpr std::size_t bytes = 4'000;
    Process& server = open("tcps://127.0.0.1:0?key_update=65536", with(alice(), true));
    Process& client = open("tcps://?key_update=65536", with(alice(), false));
    Relay relay(server.endpoint());
    std::vector<std::byte> way;
    relay.change([&](std::vector<std::byte> passing, bool from_dialler) {
        if (from_dialler) way.insert(way.end(), passing.begin(), passing.end());
        return passing;
    });
    na::Peer& there = peer(client, relay.endpoint());
    for (unsigned tag = 1; tag <= count; ++tag) {
        const TestOp& op = send(client, there, tag, bytes);
        ASSERT_TRUE(until([&] {
            relay.step();
            return op.done() && server.receiver.messages.size() == tag;
        }));
        ASSERT_EQ(op.result, Errc::ok);
    }
    EXPECT_EQ(client.receiver.count(na::PeerEvent::lost), 0u);
    EXPECT_NEAR(static_cast<double>(records_of(way, key_update_record)), count * bytes / 65'536.0, 10.0);
}

TEST_F(TlsRenewal, AbsurdNumbersAreRefused) {
    for (const char* wrong : {"key_update=1", "key_update=65535", "key_update=99999999999999", "key_update=64k",
                              "key_update=-1", "resume=3601", "resume=1m", "resume=-1"}) {
        const auto opened = registry().open("tcps://?" + std::string(wrong), with(alice(), false));
        EXPECT_EQ(opened.code(), Errc::invalid_argument) << wrong;
    }
    EXPECT_TRUE(registry().open("tcps://?resume=0", with(alice(), false)).ok());
}

}  // namespace
}  // namespace cinnabar::tcp
