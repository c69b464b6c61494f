// SPDX-License-Identifier: BSD-3-Clause
// ofis: who gets in, and what an attacker on the fabric can read and change. A program of its own, because the
// functions by which libfabric writes to sockets are replaced.
#include "../tcp/tls_fixture.hpp"
#include "guards.hpp"
#include "stranger.hpp"
#include "support/missing_here.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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
        // Where the plain scheme opens, the protected one has to.
        const std::string missing =
            support::missing_here(registry().open("ofi+tcp;ofi_rxm://127.0.0.1:0", listening()));
        if (!missing.empty()) GTEST_SKIP() << missing;
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
    // Flips one bit of the first write of at least `bytes`.
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

// What an attacker finds of messages and transfers, of all sizes, and of the keys of leases.
struct Found {
    std::size_t messages = 0;
    std::size_t data = 0;
    std::size_t keys = 0;
};

class Readable : public Guarded {
  protected:
    // Sends and moves data between client_ and server_, and looks for it in all that is sent.
    Found read_on_the_way();

  private:
    using Secrets = std::vector<std::vector<std::byte>>;
    static Secrets patterns(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
        Secrets made;
        for (const std::size_t bytes : sizes) support::fill_pattern(made.emplace_back(bytes), seed++);
        return made;
    }
    [[nodiscard]] std::size_t count(const Secrets& secrets) const {
        std::size_t found = 0;
        for (const std::vector<std::byte>& secret : secrets) {
            const std::size_t step = std::max<std::size_t>(16, secret.size() / 8);
            for (std::size_t at = 0; at + 16 <= secret.size(); at += step) {
                const auto part = secret.begin() + static_cast<std::ptrdiff_t>(at);
                found += std::search(seen_.begin(), seen_.end(), part, part + 16) != seen_.end() ? 1 : 0;
            }
        }
        return found;
    }
    std::vector<std::byte> seen_;
};

Found Readable::read_on_the_way() {
    tap([this](Bytes bytes) { seen_.insert(seen_.end(), bytes.begin(), bytes.end()); });
    const Secrets messages = patterns({64, 4'000}, 5);  // the first one is injected
    for (na::Tag tag = 5; tag < 7; ++tag) (void)send(*client_, *there_, tag, messages[tag - 5].size());
    EXPECT_TRUE(until([&] { return server_->receiver.count_tag(5) + server_->receiver.count_tag(6) == 2; }));
    Secrets data = patterns({1'000, 1'000, large, large}, 7);
    for (std::size_t i = 0; i < data.size(); i += 2) {
        std::vector<std::byte> room(data[i].size());
        EXPECT_EQ(moved(na::OpKind::put, data[i], room), Errc::ok);
        EXPECT_EQ(room, data[i]);
        EXPECT_EQ(moved(na::OpKind::get, room, data[i + 1]), Errc::ok);
        EXPECT_EQ(room, data[i + 1]);
    }
    Secrets keys;
    for (const Lent& lent : lent_) keys.emplace_back(lent.key.begin(), lent.key.end());
    EXPECT_GT(seen_.size(), 2 * large);
    return {count(messages), count(data), count(keys)};
}

TEST_F(Readable, NothingCanBeReadOnTheWay) {
    connect_both();
    const Found found = read_on_the_way();
    EXPECT_EQ(found.messages, 0u);
    EXPECT_EQ(found.data, 0u);
    EXPECT_EQ(found.keys, 0u);
}

// The same test finds all of it where nothing is sealed.
TEST_F(Readable, OnPlainFabricsAllCanBeRead) {
    server_ = &open("ofi+tcp;ofi_rxm://127.0.0.1:0");
    client_ = &open("ofi+tcp;ofi_rxm://", {});
    there_ = &peer(*client_, *server_);
    connect(*client_, *there_, *server_);
    const Found found = read_on_the_way();
    EXPECT_GE(found.messages, 4u + 8u);
    EXPECT_GE(found.data, 4u * 7);
    EXPECT_EQ(found.keys, 4u);
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

// An attacker leads a dial of this process back to it.
TEST_F(Guarded, AProcessIsNotLedBackToItself) {
    log_.allow("a connection of this process to itself: redirected on the way");
    Process& process = serve(alice());
    tcp::Relay relay(process.endpoint());
    EXPECT_EQ(sent(process, relay.endpoint(), [&] { relay.step(); }), Errc::permission);
    EXPECT_EQ(process.receiver.count(na::PeerEvent::connected), 0u);
}

TEST_F(Guarded, TheKeyMayBeInTheAddress) {
    const std::string file = key("alice", hex_of_alice);
    Process& server = open(scheme_ + "://127.0.0.1:0?key=" + file, listening());
    Process& client = open(scheme_ + "://?key=" + file, {});
    connect(client, peer(client, server), server);
    EXPECT_EQ(registry().open(scheme_ + "://?keys=" + file, {}).code(), Errc::bad_address);
    EXPECT_EQ(registry().open(scheme_ + "://", {}).code(), Errc::invalid_argument) << "neither key nor certificate";
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
        na::TransportOptions options = with(alice(), true);
        options.hello_timeout = Microseconds(300'000);
        server_ = &open(scheme_ + "://127.0.0.1:0", options);
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

// A number has the epoch of its key in the upper bits of the first word of the trailer.
TEST_F(GuardedByHand, KeysOfTheLibraryChange) {
    Process& server = open(scheme_ + "://127.0.0.1:0?key_update=65536", with(alice(), true));
    Stranger other(server.endpoint());
    other.protect = hand_->protect;
    const std::size_t session = other.meet(pump_, other.greeting());
    const auto seal = other.guard(session).message_guard();
    std::vector<std::byte> probe(frame_header_bytes + na::MessageGuard::trailer_bytes);
    encode({FrameKind::probe, 0, Errc::ok, 0, other.name(session), 0}, {}, probe);
    const ConstBytes header = ConstBytes(probe).first(frame_header_bytes);
    ASSERT_TRUE(seal->seal(na::MessageGuard::Kind::frame, header, {}, probe.data() + frame_header_bytes));
    other.say_bytes(session, probe);
    ASSERT_TRUE(until([&] { return other.poll(), server.receiver.count(na::PeerEvent::connected) == 1; }));
    na::Peer& there = server.only_peer();
    constexpr na::Tag messages = 50;  // of 4,000 bytes
    for (na::Tag tag = 1; tag <= messages; ++tag) (void)send(server, there, tag, 4'000);
    ASSERT_TRUE(until([&] { return other.poll(), other.heard.size() == messages + 1; }));
    std::vector<unsigned> epochs;
    for (const Heard& heard : other.heard) {
        ByteReader trailer(ConstBytes(heard.data).last(na::MessageGuard::trailer_bytes));
        epochs.push_back(static_cast<unsigned>(trailer.u64() >> 48));
    }
    EXPECT_TRUE(std::is_sorted(epochs.begin(), epochs.end()));
    EXPECT_EQ(epochs.front(), 0u);
    EXPECT_EQ(epochs.back(), 3u) << "some 200 KiB by keys for 64 KiB each";
}

TEST_F(GuardedByHand, AProbeThatIsNotSealedEndsTheSession) {
    ASSERT_FALSE(hand_->ended(session_));
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

// Frames need no order (decision 105), so who drops or delays some on the way is not noticed.
TEST_F(GuardedByHand, MessagesThatAreLeftOutOrInAnotherOrderAreNotNoticed) {
    probe();
    const std::vector<std::byte> first = sealed(frame(FrameKind::unexpected, 5));
    (void)sealed(frame(FrameKind::unexpected, 6));  // never sent
    const std::vector<std::byte> third = sealed(frame(FrameKind::unexpected, 7));
    say(third);
    say(first);
    EXPECT_TRUE(comes([this] { return server_->receiver.count_tag(7) == 1 && server_->receiver.count_tag(5) == 1; }));
    EXPECT_EQ(server_->receiver.count(na::PeerEvent::lost), 0u);
}

TEST_F(GuardedByHand, AChangedHeaderEndsTheSession) {
    probe();
    std::vector<std::byte> message = sealed(frame(FrameKind::unexpected, 5));
    message[8] ^= std::byte{2};  // the tag
    say(message);
    expect_ends_with_protocol();
    EXPECT_EQ(server_->receiver.messages.size(), 0u);
}

// It is the peer's own: nobody else can seal it.
TEST_F(GuardedByHand, AMalformedMessageEndsTheSession) {
    probe();
    say(sealed(frame(static_cast<FrameKind>(9))));
    expect_ends_with_protocol();
}

TEST_F(GuardedByHand, HalfARecordAfterTheGreetingsEndsTheSession) {
    probe();
    constexpr std::array<unsigned char, 8> begin{23, 3, 3, 0x40, 0, 1, 2, 3};  // of 16 KiB
    ASSERT_EQ(::send(hand_->socket(session_), begin.data(), begin.size(), MSG_NOSIGNAL), ssize_t{begin.size()});
    EXPECT_TRUE(comes([this] { return server_->receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_->receiver.events.back().why, Errc::timed_out);
}

// A get by hand: what it is answered with is bound to its id and tag.
TEST_F(GuardedByHand, AChunkIsOpenedForItsOwnOperationAlone) {
    probe();
    std::vector<std::byte> theirs(100'000);
    support::fill_pattern(theirs, 4);
    const Lent& lent = lend(*server_, {{theirs.data(), theirs.size()}});
    std::vector<std::byte> bytes(head_bytes(FrameKind::get));
    TransferBody body;
    ByteReader key(lent.key);
    body.key = na::LeaseKey::decode(key);
    body.bytes = theirs.size();
    body.chunk = chunk_bytes_max / 16;
    body.tag = 0x100;
    constexpr std::uint64_t id = 7;
    encode({FrameKind::get, 0, Errc::ok, 0, hand_->name(session_), id}, body, bytes);
    std::vector<std::byte> came(theirs.size() + na::MessageGuard::trailer_bytes);
    Watched receive;
    const iovec piece{came.data(), came.size()};
    ASSERT_EQ(hand_->endpoint().receive_tagged(&piece, 1, {}, body.tag, FI_ADDR_UNSPEC, receive), Errc::ok);
    say(sealed(bytes));
    ASSERT_TRUE(comes([&] { return receive.endings == 1; }));
    const auto opens = [&](bool of_put, std::uint64_t of, std::uint64_t tag) {
        std::array<std::byte, 24> head;
        ByteWriter writer(head);
        writer.u64(of_put ? 1 : 0);
        writer.u64(of);
        writer.u64(tag);
        std::vector<std::byte> chunk = came;
        return seal_->open(na::MessageGuard::Kind::chunk, head, Bytes(chunk)) &&
               std::equal(theirs.begin(), theirs.end(), chunk.begin());
    };
    EXPECT_FALSE(opens(true, id, body.tag)) << "a put";
    EXPECT_FALSE(opens(false, id + 1, body.tag)) << "a later operation that has drawn the same tag";
    EXPECT_FALSE(opens(false, id, body.tag + 1)) << "another chunk of it";
    EXPECT_TRUE(opens(false, id, body.tag));
}

// The attacker has proven who it is, and knows the name of another peer's session.
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
    EXPECT_EQ(server_->receiver.events.back().why, Errc::protocol);
    EXPECT_EQ(server_->receiver.count_tag(5), 0u);
}

}  // namespace
}  // namespace cinnabar::ofi
