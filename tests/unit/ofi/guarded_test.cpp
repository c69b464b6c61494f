// SPDX-License-Identifier: BSD-3-Clause
// ofis: who gets in, and what an attacker on the fabric can read and change. A program of its own, because the
// functions by which libfabric writes to sockets are replaced.
#include "../tcp/tls_fixture.hpp"
#include "guards.hpp"
#include "stranger.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>

namespace {

// Called with all bytes that are written to a socket.
std::function<void(cinnabar::Bytes)>* on_the_way = nullptr;

}  // namespace

extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
    if (!on_the_way) return ::syscall(SYS_sendmsg, socket, message, flags);
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
        const auto* const from = static_cast<const std::byte*>(message->msg_iov[i].iov_base);
        bytes.insert(bytes.end(), from, from + message->msg_iov[i].iov_len);
    }
    (*on_the_way)(bytes);
    iovec piece{bytes.data(), bytes.size()};
    msghdr changed = *message;
    changed.msg_iov = &piece;
    changed.msg_iovlen = 1;
    return ::syscall(SYS_sendmsg, socket, &changed, flags);
}

extern "C" ssize_t sendto(int socket, const void* from, std::size_t bytes, int flags, const sockaddr* to,
                          socklen_t to_bytes) {
    if (!on_the_way) return ::syscall(SYS_sendto, socket, from, bytes, flags, to, to_bytes);
    const auto* const begin = static_cast<const std::byte*>(from);
    std::vector<std::byte> changed(begin, begin + bytes);
    (*on_the_way)(changed);
    return ::syscall(SYS_sendto, socket, changed.data(), changed.size(), flags, to, to_bytes);
}

extern "C" ssize_t send(int socket, const void* from, std::size_t bytes, int flags) {
    return ::sendto(socket, from, bytes, flags, nullptr, 0);
}

namespace cinnabar::ofi {
namespace {

using tcp::hex_of_alice;
using tcp::hex_of_bob;
using tcp::Lent;
using tcp::Process;
using tcp::TestOp;

constexpr std::size_t large = 3 * 1024 * 1024 + 5;

class Guarded : public tcp::TlsTest {
  protected:
    Guarded() { scheme_ = "ofis+tcp;ofi_rxm"; }
    ~Guarded() override { on_the_way = nullptr; }
    void SetUp() override {
        const auto opened = registry().open(scheme_ + "://127.0.0.1:0", with(alice(), true));
        if (!opened && opened.code() == Errc::unsupported) GTEST_SKIP() << opened.error().message();
    }
    [[nodiscard]] std::string plain(const std::string& endpoint) const {
        return "ofi" + endpoint.substr(std::string_view("ofis").size());
    }
    // From now on, passes all bytes that are sent, to be read or changed.
    void tap(std::function<void(Bytes)> each) {
        tap_ = std::move(each);
        on_the_way = &tap_;
    }

    // A client that is connected to a server.
    void connect_both(const std::string& options = {}) {
        server_ = &open(scheme_ + "://127.0.0.1:0" + options, with(alice(), true));
        client_ = &open(scheme_ + "://" + options, with(alice(), false));
        there_ = &peer(*client_, *server_);
        connect(*client_, *there_, *server_);
    }
    // Gets or puts all of `mine` from or to memory of the server.
    [[nodiscard]] Errc moved(na::OpKind kind, std::vector<std::byte>& mine, std::vector<std::byte>& theirs) {
        const Lent& lent = lend(*server_, {{theirs.data(), theirs.size()}});
        const auto local = registered(*client_, {{mine.data(), mine.size()}});
        const TestOp& op = rma(*client_, *there_, kind, *local, lent, mine.size());
        EXPECT_TRUE(until([&] { return op.done(); }));
        return op.result;
    }
    // Flips one bit of the first write of at least `bytes`; afterwards both sides lose the session.
    void change_write_of(std::size_t bytes) {
        tap([this, bytes](Bytes sent) {
            if (sent.size() < bytes || changed_) return;
            changed_ = true;
            sent[bytes / 2] ^= std::byte{1};
        });
    }
    void expect_ended_by_protocol(const Process& process) {
        EXPECT_TRUE(until([&] { return process.receiver.count(na::PeerEvent::lost) == 1; }));
        EXPECT_EQ(process.receiver.events.back().why, Errc::protocol);
        EXPECT_TRUE(changed_);
    }

    Process* server_ = nullptr;
    Process* client_ = nullptr;
    na::Peer* there_ = nullptr;
    bool changed_ = false;

  private:
    std::function<void(Bytes)> tap_;
};

TEST_F(Guarded, BothSidesKnowWhoTheOtherIs) {
    connect_both();
    const na::ProvenIdentity* const seen = server_->only_peer().addr().identity();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->by, na::ProvenIdentity::By::key);
    EXPECT_EQ(seen->name, "alice");
    EXPECT_TRUE(server_->transport->caps().proves_peers);
}

TEST_F(Guarded, ByCertificates) {
    authority("ca");
    Process& server = serve(certificate("ca", server_of()));
    Process& client = dial_from(certificate("ca", {"ann", {}, false}));
    connect(client, peer(client, server), server);
    const na::ProvenIdentity* const seen = server.only_peer().addr().identity();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->by, na::ProvenIdentity::By::certificate);
    EXPECT_EQ(seen->name, "ann");
    log_.allow("has a certificate that is not believed");
    log_.allow("does not accept this side's certificate");
    Process& elsewhere = serve(certificate("ca", server_of("10.9.8.7")));
    EXPECT_EQ(sent(client, elsewhere.endpoint()), Errc::permission) << "it is for another host";
}

TEST_F(Guarded, AnotherKeyIsRefused) {
    log_.allow("proves another key");
    log_.allow("does not accept this side's key");
    Process& server = serve(alice());
    Process& client = dial_from({.key_file = key("alice", hex_of_bob)});
    EXPECT_EQ(sent(client, server.endpoint()), Errc::permission);
    expect_nothing_came(server);
}

TEST_F(Guarded, APlainDialIsToldThatItIsTurnedDown) {
    log_.allow("takes protected connections only: reach it by ofis+PROVIDER://");
    Process& server = serve(alice());
    Process& client = open("ofi+tcp;ofi_rxm://", {});
    EXPECT_EQ(sent(client, plain(server.endpoint())), Errc::permission);
    EXPECT_GT(log_.allowed(), 0u);
    expect_nothing_came(server);
}

TEST_F(Guarded, ADialOfAPlainPortLosesThePeer) {
    Process& server = open("ofi+tcp;ofi_rxm://127.0.0.1:0");
    Process& client = dial_from(alice());
    EXPECT_EQ(sent(client, "ofis" + server.endpoint().substr(3)), Errc::peer_lost);
    expect_nothing_came(server);
}

// A plain transport does not take addresses that promise protection, and the other way round.
TEST_F(Guarded, SchemesAreNotMixed) {
    Process& server = serve(alice());
    Process& plain_one = open("ofi+tcp;ofi_rxm://", {});
    EXPECT_FALSE(plain_one.transport->reaches(server.endpoint()));
    EXPECT_TRUE(plain_one.transport->reaches(plain(server.endpoint())));
    EXPECT_TRUE(server.transport->reaches("ofis+tcp://127.0.0.1:1"));
    EXPECT_TRUE(server.transport->reaches("ofis://127.0.0.1:1"));
    EXPECT_FALSE(server.transport->reaches("ofi+tcp://127.0.0.1:1"));
    EXPECT_FALSE(server.transport->reaches("tcps://127.0.0.1:1"));
}

TEST_F(Guarded, NothingCanBeReadOnTheWay) {
    std::vector<std::byte> seen;
    connect_both();
    tap([&](Bytes bytes) { seen.insert(seen.end(), bytes.begin(), bytes.end()); });
    (void)send(*client_, *there_, 5, 64);     // injected
    (void)send(*client_, *there_, 6, 4'000);  // not
    ASSERT_TRUE(until([&] { return server_->receiver.count_tag(5) + server_->receiver.count_tag(6) == 2; }));
    std::vector<std::vector<std::byte>> secrets(6);
    const std::array<std::size_t, 6> sizes{64, 4'000, 1'000, 1'000, large, large};
    for (std::size_t i = 0; i < secrets.size(); ++i) {
        secrets[i].resize(sizes[i]);
        support::fill_pattern(secrets[i], 5 + i);
    }
    for (std::size_t i = 2; i < secrets.size(); i += 2) {
        std::vector<std::byte> room(sizes[i]);
        ASSERT_EQ(moved(na::OpKind::put, secrets[i], room), Errc::ok);
        EXPECT_EQ(room, secrets[i]);
        ASSERT_EQ(moved(na::OpKind::get, room, secrets[i + 1]), Errc::ok);
        EXPECT_EQ(room, secrets[i + 1]);
    }
    for (const Lent& lent : lent_) secrets.emplace_back(lent.key.begin(), lent.key.end());
    EXPECT_GT(seen.size(), 2 * large);
    for (const std::vector<std::byte>& secret : secrets) {
        const std::size_t step = std::max<std::size_t>(16, secret.size() / 8);
        for (std::size_t at = 0; at + 16 <= secret.size(); at += step) {
            const auto part = secret.begin() + static_cast<std::ptrdiff_t>(at);
            EXPECT_EQ(std::search(seen.begin(), seen.end(), part, part + 16), seen.end()) << secret.size();
        }
    }
}

// The tap sees what is not protected.
TEST_F(Guarded, OnPlainFabricsAllCanBeRead) {
    std::vector<std::byte> seen;
    Process& server = open("ofi+tcp;ofi_rxm://127.0.0.1:0");
    Process& client = open("ofi+tcp;ofi_rxm://", {});
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    tap([&](Bytes bytes) { seen.insert(seen.end(), bytes.begin(), bytes.end()); });
    (void)send(client, there, 5, 64);
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(5) == 1; }));
    std::vector<std::byte> message(64);
    support::fill_pattern(message, 5);
    EXPECT_NE(std::search(seen.begin(), seen.end(), message.begin(), message.end()), seen.end());
}

TEST_F(Guarded, AChangedMessageEndsTheSession) {
    connect_both();
    change_write_of(2'000);
    (void)send(*client_, *there_, 2, 4'000);
    expect_ended_by_protocol(*server_);
    EXPECT_EQ(server_->receiver.count_tag(2), 0u);
    EXPECT_TRUE(until([&] { return client_->receiver.count(na::PeerEvent::lost) == 1; }));
}

TEST_F(Guarded, AChangedSmallPutEndsTheSessionAndWritesNothing) {
    connect_both();
    std::vector<std::byte> mine(3'000, std::byte{1});
    std::vector<std::byte> theirs(3'000);
    change_write_of(2'000);
    EXPECT_EQ(moved(na::OpKind::put, mine, theirs), Errc::peer_lost);
    expect_ended_by_protocol(*server_);
    EXPECT_EQ(theirs, std::vector<std::byte>(3'000));
}

TEST_F(Guarded, AChangedChunkOfAPutEndsTheSession) {
    connect_both();
    std::vector<std::byte> mine(100'000, std::byte{1});
    std::vector<std::byte> theirs(mine.size());
    change_write_of(20'000);
    EXPECT_EQ(moved(na::OpKind::put, mine, theirs), Errc::peer_lost);
    expect_ended_by_protocol(*server_);
    EXPECT_EQ(theirs, std::vector<std::byte>(mine.size())) << "nothing of a chunk that was changed is placed";
}

TEST_F(Guarded, AChangedChunkOfAGetEndsTheSession) {
    connect_both();
    std::vector<std::byte> mine(100'000);
    std::vector<std::byte> theirs(mine.size(), std::byte{1});
    change_write_of(20'000);
    EXPECT_EQ(moved(na::OpKind::get, mine, theirs), Errc::protocol);
    expect_ended_by_protocol(*client_);
    EXPECT_EQ(mine, std::vector<std::byte>(theirs.size()));
}

TEST_F(Guarded, KeysChangeWithTheTraffic) {
    connect_both("?key_update=65536");
    std::vector<std::byte> mine(large);
    std::vector<std::byte> theirs(large);
    for (std::uint64_t round = 0; round < 3; ++round) {
        support::fill_pattern(mine, round);
        ASSERT_EQ(moved(na::OpKind::put, mine, theirs), Errc::ok);
        EXPECT_EQ(mine, theirs);
        support::fill_pattern(theirs, 100 + round);
        ASSERT_EQ(moved(na::OpKind::get, mine, theirs), Errc::ok);
        EXPECT_EQ(mine, theirs);
    }
    constexpr na::Tag messages = 100;
    for (na::Tag tag = 1; tag <= messages; ++tag) (void)send(*client_, *there_, 1000 + tag, 4'000);
    EXPECT_TRUE(until([&] { return server_->receiver.count_tag(1000 + messages) == 1; }));
    EXPECT_EQ(server_->receiver.count(na::PeerEvent::lost), 0u);
}

TEST_F(Guarded, ASessionEndsWhoseKeyWasTakenAwayAndOthersGoOn) {
    log_.allow("proved a key or certificate that was withdrawn: its session ends");
    const std::string alices = std::string("alice:") + hex_of_alice;
    const std::string bobs = std::string("bob:") + hex_of_bob;
    const std::string file = support::put_key(folder_, "both", alices + "\n" + bobs);
    Process& server = serve({.key_file = file});
    Process& first = dial_from(alice());
    connect(first, peer(first, server), server);
    Process& second = dial_from(bob());
    na::Peer& there = peer(second, server);
    connect(second, there, server);
    std::filesystem::rename(support::put_key(folder_, "next", bobs), file);
    EXPECT_TRUE(until([&] { return server.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server.receiver.events.back().why, Errc::permission);
    EXPECT_TRUE(until([&] { return first.receiver.count(na::PeerEvent::lost) == 1; }));
    (void)send(second, there, 77);
    EXPECT_TRUE(until([&] { return server.receiver.count_tag(77) == 1; }));
}

// A peer that has proven who it is and makes its frames by hand.
class GuardedByHand : public Guarded {
  protected:
    void SetUp() override {
        Guarded::SetUp();
        if (IsSkipped()) return;
        server_ = &serve(alice());
        hand_.emplace(server_->endpoint());
        hand_->protect = [this](na::Stream& stream) {
            const na::Addr server = na::Addr::parse(server_->endpoint()).value();
            EXPECT_EQ(guards_->protect_dialled(stream, server), Errc::ok);
        };
        session_ = hand_->meet(pump_, hand_->greeting());
        seal_ = hand_->guard(session_).message_guard();
    }
    ~GuardedByHand() override {
        seal_.reset();
        hand_.reset();
    }
    std::vector<std::byte> frame(FrameKind kind, na::Tag tag = 0) {
        std::vector<std::byte> bytes(head_bytes(kind));
        encode({kind, 0, Errc::ok, 0, hand_->name(session_), tag}, {}, bytes);
        return bytes;
    }
    std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
        const std::size_t body = bytes.size() - frame_header_bytes;
        bytes.resize(bytes.size() + na::MessageGuard::trailer_bytes);
        const Bytes all(bytes);
        EXPECT_TRUE(seal_->seal(na::MessageGuard::Kind::frame, all.first(frame_header_bytes),
                                all.subspan(frame_header_bytes, body), bytes.data() + frame_header_bytes));
        return bytes;
    }
    void say(std::vector<std::byte> bytes) { hand_->say_bytes(session_, std::move(bytes)); }
    [[nodiscard]] testing::AssertionResult comes(const std::function<bool()>& done) {
        return until([&] {
            hand_->poll();
            return done();
        });
    }
    void probe() {
        say(sealed(frame(FrameKind::probe)));
        ASSERT_TRUE(comes([this] { return server_->receiver.count(na::PeerEvent::connected) == 1; }));
    }
    void expect_ends_with_protocol() {
        EXPECT_TRUE(comes([this] { return server_->receiver.count(na::PeerEvent::lost) == 1; }));
        EXPECT_EQ(server_->receiver.events.back().why, Errc::protocol);
    }

    std::shared_ptr<const tls::TlsGuards> guards_ =
        tls::TlsGuards::make(alice(), {.scheme = {"ofis", Greeting::wire_bytes}}).value();
    std::optional<Stranger> hand_;
    std::size_t session_ = 0;
    std::unique_ptr<na::MessageGuard> seal_;
};

TEST_F(GuardedByHand, SealedMessagesArrive) {
    probe();
    say(sealed(frame(FrameKind::unexpected, 5)));
    EXPECT_TRUE(comes([this] { return server_->receiver.count_tag(5) == 1; }));
}

TEST_F(GuardedByHand, AProbeThatIsNotSealedEndsTheSession) {
    say(frame(FrameKind::probe));
    EXPECT_TRUE(comes([this] { return hand_->ended(session_); }));
    EXPECT_EQ(server_->receiver.count(na::PeerEvent::connected), 0u);
}

TEST_F(GuardedByHand, AMessageThatIsNotSealedEndsTheSession) {
    probe();
    say(frame(FrameKind::unexpected, 5));
    expect_ends_with_protocol();
    EXPECT_EQ(server_->receiver.count_tag(5), 0u);
}

TEST_F(GuardedByHand, AMessageThatIsSentTwiceEndsTheSession) {
    probe();
    const std::vector<std::byte> message = sealed(frame(FrameKind::unexpected, 5));
    say(message);
    say(message);
    expect_ends_with_protocol();
    EXPECT_EQ(server_->receiver.count_tag(5), 1u) << "the second one is not executed";
}

TEST_F(GuardedByHand, AChangedHeaderEndsTheSession) {
    probe();
    std::vector<std::byte> message = sealed(frame(FrameKind::unexpected, 5));
    message[8] ^= std::byte{2};  // the tag
    say(message);
    expect_ends_with_protocol();
    EXPECT_EQ(server_->receiver.messages.size(), 0u);
}

// It knows the name of the session of somebody else.
TEST_F(GuardedByHand, AnotherPeerCannotSpeakForThisOne) {
    probe();
    Stranger other(server_->endpoint());
    other.protect = hand_->protect;
    const std::size_t theirs = other.meet(pump_, other.greeting());
    const auto seal = other.guard(theirs).message_guard();
    std::vector<std::byte> message = frame(FrameKind::unexpected, 5);
    message.resize(message.size() + na::MessageGuard::trailer_bytes);
    ASSERT_TRUE(seal->seal(na::MessageGuard::Kind::frame, Bytes(message).first(frame_header_bytes), {},
                           message.data() + frame_header_bytes));
    other.say_bytes(theirs, message);
    EXPECT_TRUE(comes([&] {
        other.poll();
        return server_->receiver.count(na::PeerEvent::lost) == 1;
    }));
    EXPECT_EQ(server_->receiver.count_tag(5), 0u);
}

}  // namespace
}  // namespace cinnabar::ofi
