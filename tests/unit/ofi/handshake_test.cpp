// SPDX-License-Identifier: BSD-3-Clause
// Connections to the handshake socket of a fabric, and peers whose fabric does not work.
#include "greeting.hpp"
#include "stranger.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::ofi {
namespace {

using support::NetworkKind;

class Handshake : public testing::Test {
  protected:
    explicit Handshake(NetworkKind kind = NetworkKind::ofi_tcp_rxm) : network_(kind), pump_() {}
    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        na::TransportOptions options;
        options.listen = true;
        options.hello_timeout = Microseconds(100'000);
        options.connect_timeout = Microseconds(300'000);
        transport_ = network_.open("server", options).value();
        na::ContextOptions one;
        one.threads = ThreadUse::one;
        na::Transport* const transport = transport_.get();
        context_ = na::Context::open({&transport, 1}, one, receiver_).value();
        pump_.add(*context_);
    }

    na::Stream call() {
        const auto uri = na::Uri::parse(transport_->endpoints().front()).value();
        UniqueFd fd;
        EXPECT_EQ(na::start_connect(na::resolve(uri, na::Purpose::dial).value().front(), nullptr, fd), Errc::ok);
        return na::Stream(std::move(fd));
    }
    static void say(na::Stream& stream, const Greeting& greeting) {
        EXPECT_TRUE(na::send_greeting(stream, greeting.encode()));
    }
    static Greeting stranger() {
        Greeting greeting;
        greeting.hello.incarnation = 77;
        greeting.hello.message_bytes_max = 4096;
        greeting.set_provider("tcp;ofi_rxm");
        return greeting;
    }
    // again: no answer within the limit; peer_lost: the other side has closed the connection.
    Errc listen(na::Stream& stream, Greeting& out) {
        na::GreetingReader reader;
        reader.expect(Greeting::wire_bytes);
        Errc came = Errc::again;
        (void)pump_.until([&] { return (came = reader.read(stream)) != Errc::again; });
        return came == Errc::ok ? Greeting::decode(reader.bytes(), out) : came;
    }

    support::Network network_;
    support::Pump pump_;
    support::RecordingReceiver receiver_;
    std::unique_ptr<na::Transport> transport_;
    std::unique_ptr<na::Context> context_;
};

TEST_F(Handshake, ADialFromAnotherProviderIsRejected) {
    na::Stream stream = call();
    Greeting greeting = stranger();
    greeting.set_provider("sockets");
    say(stream, greeting);
    Greeting answer;
    ASSERT_EQ(listen(stream, answer), Errc::ok);
    EXPECT_EQ(answer.hello.kind, na::HelloKind::reject);
    EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::unreachable));
    EXPECT_EQ(answer.provider(), "tcp;ofi_rxm");
}

TEST_F(Handshake, ADialOfAMissingContextIsRejected) {
    na::Stream stream = call();
    Greeting greeting = stranger();
    greeting.hello.peer_context = 9;
    say(stream, greeting);
    Greeting answer;
    ASSERT_EQ(listen(stream, answer), Errc::ok);
    EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::unreachable));
}

TEST_F(Handshake, ADialOfAnEarlierProcessIsLost) {
    na::Stream stream = call();
    Greeting greeting = stranger();
    greeting.hello.peer_incarnation = transport_->incarnation() ^ 1;
    say(stream, greeting);
    Greeting answer;
    ASSERT_EQ(listen(stream, answer), Errc::ok);
    EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::peer_lost));
}

TEST_F(Handshake, UnknownFieldsAreRejectedAsUnsupported) {
    for (const std::size_t at : {4u, 8u, 38u, 39u, 46u, 47u, 95u, 96u, 303u, 304u, 311u}) {
        auto bytes = stranger().encode();
        bytes[at] ^= std::byte{7};
        na::Stream stream = call();
        ASSERT_TRUE(na::send_greeting(stream, bytes));
        Greeting answer;
        ASSERT_EQ(listen(stream, answer), Errc::ok) << at;
        EXPECT_EQ(answer.hello.kind, na::HelloKind::reject) << at;
        EXPECT_EQ(answer.hello.reason, static_cast<std::uint8_t>(Errc::unsupported)) << at;
    }
}

TEST_F(Handshake, SilentAndMalformedConnectionsAreDropped) {
    na::Stream silent = call();
    na::Stream noisy = call();
    const std::array<std::byte, Greeting::wire_bytes> malformed{};
    ASSERT_TRUE(na::send_greeting(noisy, malformed));
    Greeting answer;
    EXPECT_EQ(listen(noisy, answer), Errc::peer_lost);
    EXPECT_EQ(listen(silent, answer), Errc::peer_lost);
}

TEST_F(Handshake, AnInvalidFabricAddressEndsTheSession) {
    na::Stream stream = call();
    Greeting greeting = stranger();
    greeting.address_bytes = 3;
    say(stream, greeting);
    Greeting answer;
    ASSERT_EQ(listen(stream, answer), Errc::ok);
    EXPECT_EQ(answer.hello.kind, na::HelloKind::accept);
    EXPECT_EQ(listen(stream, answer), Errc::peer_lost);
}

TEST_F(Handshake, APeerThatNeverUsesTheFabricIsDropped) {
    na::Stream stream = call();
    Greeting greeting = stranger();
    say(stream, greeting);
    Greeting answer;
    ASSERT_EQ(listen(stream, answer), Errc::ok);
    // The handshake succeeds, but the fabric carries nothing within the connect timeout.
    greeting.address_bytes = answer.address_bytes;
    EXPECT_EQ(listen(stream, answer), Errc::peer_lost);
    EXPECT_EQ(receiver_.count(na::PeerEvent::connected), 0u);
}

// The incarnation is not a secret: every process that dials learns it.
TEST_F(Handshake, AClaimToBeALostServerGetsNoneOfItsMessages) {
    na::TransportOptions options;
    options.listen = true;
    const std::unique_ptr<na::Transport> server = network_.open("other", options).value();
    na::Transport* const transport = server.get();
    support::RecordingReceiver heard;
    std::unique_ptr<na::Context> context = na::Context::open({&transport, 1}, {}, heard).value();
    pump_.add(*context);
    na::Peer& there = *context_->peer(na::Addr::make(server->endpoints(), 0, 0)).value();
    there.acquire();
    std::array<na::Op, 2> ops;
    const auto post = [&](na::Op& op, na::Tag tag) {
        op.peer = &there;
        op.tag = tag;
        op.message = there.port().take_message();
        op.message_bytes = 8;
        op.complete = [](na::Op& self) noexcept { self.message->port->give_message(*self.message); };
        EXPECT_EQ(context_->post_owned(op), Errc::ok);
        EXPECT_TRUE(pump_.until([&] { return heard.count_tag(tag) == 1; }));
    };
    post(ops[0], 1);
    there.port().disconnect(there);
    ASSERT_TRUE(pump_.until([this] { return receiver_.count(na::PeerEvent::lost) == 1; }));
    na::Stream liar = call();
    Greeting greeting = stranger();
    greeting.hello.incarnation = server->incarnation();
    say(liar, greeting);
    Greeting answer;
    ASSERT_EQ(listen(liar, answer), Errc::ok);
    EXPECT_EQ(answer.hello.kind, na::HelloKind::accept);
    EXPECT_EQ(there.state(), na::PeerState::idle);
    post(ops[1], 2);
    there.release();
    pump_.remove(*context);
    context.reset();
}

struct LinesOfProbes {
    LinesOfProbes() {
        set_log_level(LogLevel::info);
        set_log_sink(
            [](const LogLine& line, void* self) {
                if (line.text.find("dropped a probe whose source is not") == std::string_view::npos) return;
                ++static_cast<LinesOfProbes*>(self)->count;
            },
            this);
    }
    ~LinesOfProbes() {
        set_log_sink(nullptr, nullptr);
        set_log_level(LogLevel::warning);
    }
    unsigned count = 0;
};

// A greeting may contain the address of another process.
TEST_F(Handshake, NothingIsSentBeforeAPeersProbe) {
    const std::string target = transport_->endpoints().front();
    Stranger liar(target);
    Stranger victim(target);
    Greeting greeting = liar.greeting();
    Stranger::set_address(greeting, victim.endpoint().address());
    const std::size_t session = liar.meet(pump_, greeting);
    constexpr unsigned probes = 100;
    LinesOfProbes lines;
    for (unsigned i = 0; i < probes; ++i) liar.say(session, FrameKind::probe);
    EXPECT_TRUE(pump_.until([&] {
        liar.poll();
        victim.poll();
        return liar.ended(session) || !victim.heard.empty();
    }));
    EXPECT_TRUE(victim.heard.empty());
    EXPECT_EQ(receiver_.count(na::PeerEvent::connected), 0u);
    EXPECT_GT(lines.count, 0u);
    EXPECT_LT(lines.count, probes / 2) << "a stranger writes as much as it likes";
    // The peer that really has this address can connect.
    (void)liar.connect(pump_);
    EXPECT_EQ(receiver_.count(na::PeerEvent::connected), 1u);
}

// An answer is for the side that dialled. From others it would open a session with any address.
TEST_F(Handshake, AnAnswerDoesNotTakeThePlaceOfAProbe) {
    const std::string target = transport_->endpoints().front();
    Stranger liar(target);
    Stranger victim(target);
    Greeting greeting = liar.greeting();
    Stranger::set_address(greeting, victim.endpoint().address());
    const std::size_t session = liar.meet(pump_, greeting);
    liar.say(session, FrameKind::answer);
    liar.say(session, FrameKind::get, 1, {.bytes = 8});  // of an unknown lease, which is answered
    EXPECT_TRUE(pump_.until([&] {
        liar.poll();
        victim.poll();
        return liar.ended(session) || !victim.heard.empty();
    }));
    EXPECT_TRUE(liar.ended(session));
    EXPECT_TRUE(victim.heard.empty());
    EXPECT_EQ(receiver_.count(na::PeerEvent::connected), 0u);
}

// Nor is it taken from a peer that is where its greeting says.
TEST_F(Handshake, AnAnswerToNoProbeEndsTheSession) {
    Stranger peer(transport_->endpoints().front());
    const std::size_t session = peer.connect(pump_);
    peer.say(session, FrameKind::answer);
    EXPECT_TRUE(pump_.until([&] { return peer.poll(), receiver_.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(receiver_.events.back().why, Errc::protocol);
}

// The index of a session is not enough: each bit of the check is flipped in turn.
TEST_F(Handshake, AMessageWithAWrongSessionNameIsDropped) {
    Stranger honest(transport_->endpoints().front());
    const std::size_t session = honest.connect(pump_);
    const auto arrives_as = [&](const SessionName& name, na::Tag tag) {
        const na::Tag last = 1000 + tag;
        honest.say_as(name, session, FrameKind::unexpected, tag);
        honest.say(session, FrameKind::unexpected, last);  // sent after the message under test
        EXPECT_TRUE(pump_.until([&] { return honest.poll(), receiver_.count_tag(last) == 1; }));
        return receiver_.count_tag(tag) == 1;
    };
    const SessionName right = honest.name(session);
    EXPECT_TRUE(arrives_as(right, 1));
    for (unsigned bit = 0; bit < 64; ++bit) {
        EXPECT_FALSE(arrives_as({right.index, right.check ^ std::uint64_t{1} << bit}, 2 + bit)) << bit;
    }
    EXPECT_FALSE(arrives_as({right.index, right.check + 1}, 100));
    EXPECT_FALSE(arrives_as({right.index + 1, right.check}, 101));
    EXPECT_FALSE(honest.ended(session));
}

// Somebody else may have made it, who has read the session's name on the way.
TEST_F(Handshake, AMalformedMessageIsDropped) {
    Stranger honest(transport_->endpoints().front());
    const std::size_t session = honest.connect(pump_);
    honest.say(session, static_cast<FrameKind>(9));
    honest.say(session, FrameKind::unexpected, 5);
    EXPECT_TRUE(pump_.until([&] { return honest.poll(), receiver_.count_tag(5) == 1; }));
    EXPECT_FALSE(honest.ended(session));
    EXPECT_EQ(receiver_.count(na::PeerEvent::lost), 0u);
}

// A chunk of the put would have the tag of messages, 2^64 - 1.
TEST_F(Handshake, AGrantWithATagThatIsTooLongEndsTheSession) {
    Stranger owner(transport_->endpoints().front());
    const std::size_t session = owner.connect(pump_);
    std::vector<std::byte> data(std::size_t{2} * small_bytes_max);
    const na::Segment segment{data.data(), data.size()};
    const auto memory = transport_->register_memory({&segment, 1}, na::Access::read).value();
    const std::array<std::byte, na::LeaseKey::wire_bytes> key{};
    na::Op op;
    bool done = false;
    op.kind = na::OpKind::put;
    op.peer = receiver_.events.back().peer;
    op.local = memory.get();
    op.remote = {key, data.size()};
    op.bytes = data.size();
    op.user = &done;
    op.complete = [](na::Op& self) noexcept { *static_cast<bool*>(self.user) = true; };
    ASSERT_EQ(context_->post_owned(op), Errc::ok);
    ASSERT_TRUE(pump_.until([&] { return owner.poll(), !owner.heard.empty(); }));
    ASSERT_EQ(owner.heard.front().frame.kind, FrameKind::put);
    TransferBody go;
    go.bytes = 1;
    go.tag = ~std::uint64_t{chunks_max - 1};
    owner.say(session, FrameKind::put_go, owner.heard.front().frame.id, go);
    EXPECT_TRUE(pump_.until([&] { return owner.poll(), done; }));
    EXPECT_EQ(op.result, Errc::protocol) << to_string(op.result);
    EXPECT_EQ(receiver_.count(na::PeerEvent::lost), 1u);
}

TEST_F(Handshake, BytesAfterTheGreetingEndTheSession) {
    na::Stream stream = call();
    Greeting greeting = stranger();
    say(stream, greeting);
    Greeting answer;
    ASSERT_EQ(listen(stream, answer), Errc::ok);
    const std::byte word{1};
    ASSERT_EQ(na::send_some(stream.fd(), &word, 1).bytes, 1u);
    EXPECT_EQ(listen(stream, answer), Errc::peer_lost);
}

// libfabric's shm maps the memory that an address names.
class ShmHandshake : public Handshake {
  protected:
    ShmHandshake() : Handshake(NetworkKind::ofi_shm) {}
    // Sends a greeting with this address; the answer contains the server's fabric address.
    na::Stream greet(std::string_view address, Greeting& answer) {
        na::Stream stream = call();
        Greeting greeting = stranger();
        greeting.set_provider("shm");
        greeting.address_bytes = static_cast<std::uint16_t>(address.size());
        std::memcpy(greeting.address.data(), address.data(), address.size());
        say(stream, greeting);
        EXPECT_EQ(listen(stream, answer), Errc::ok);
        EXPECT_EQ(answer.hello.kind, na::HelloKind::accept);
        return stream;
    }
    std::string server() {
        Greeting answer;
        (void)greet("", answer);
        return std::string(as_text({answer.address.data(), answer.address_bytes}));
    }
    // An address of the same length as the server's that no endpoint has.
    std::string nobody(unsigned number) {
        const std::string own = server();
        const std::string tail = ":" + std::to_string(number);
        std::string address = "fi_shm://0:";
        address.append(own.size() - address.size() - tail.size() - 1, '0');
        return (address += tail) += '\0';
    }
    void expect_ends(na::Stream& stream) {
        Greeting none;
        EXPECT_EQ(listen(stream, none), Errc::peer_lost);
    }
    // The server still accepts a valid address: its own.
    void expect_alive() {
        Greeting answer;
        na::Stream stream = greet(server(), answer);
        (void)pump_.round();
        (void)pump_.round();
        std::byte nothing{};
        EXPECT_EQ(na::receive_some(stream.fd(), &nothing, 1).why, Errc::again);
    }
};

TEST_F(ShmHandshake, TwoAddressesWithOneNameEndOnlyTheirSessions) {
    std::array<std::string, 2> addresses;
    for (std::string& address : addresses) {
        address = std::string("fi_shm://777") + '\0';
        address.resize(server().size(), &address == addresses.data() ? 'A' : 'B');
    }
    Greeting answer;
    na::Stream first = greet(addresses[0], answer);
    na::Stream second = greet(addresses[1], answer);
    expect_ends(first);
    expect_ends(second);
    expect_alive();
}

TEST_F(ShmHandshake, ManyUnknownNamesEndOnlyTheirSessions) {
    std::vector<na::Stream> callers;
    Greeting answer;
    for (unsigned i = 0; i < 300; ++i) callers.push_back(greet(nobody(100 + i), answer));
    for (na::Stream& caller : callers) expect_ends(caller);
    expect_alive();
}

// libfabric maps and trusts the memory of an endpoint before anything has arrived from it.
class ForeignMemory : public ShmHandshake {
  protected:
    ~ForeignMemory() override {
        if (!path_.empty()) (void)::unlink(path_.c_str());
    }
    void put(const std::string& address, mode_t mode) {
        path_ = std::string("/dev/shm/") + (address.c_str() + std::string_view("fi_shm://").size());
        const UniqueFd file(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600));
        const std::string letters(64 * 1024, 'A');
        EXPECT_EQ(::write(file.get(), letters.data(), letters.size()), static_cast<ssize_t>(letters.size()));
        EXPECT_EQ(::fchmod(file.get(), mode), 0);
    }
    void expect_refused(const std::string& address) {
        Greeting answer;
        na::Stream caller = greet(address, answer);
        expect_ends(caller);
        expect_alive();
    }
    std::string path_;
};

TEST_F(ForeignMemory, MemoryThatOthersMayWriteToIsNotMapped) {
    const std::string address = nobody(1);
    put(address, 0666);
    expect_refused(address);
}

TEST_F(ForeignMemory, MemoryOfAnotherUserIsNotMapped) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives a file away";
    const std::string address = nobody(1);
    put(address, 0600);
    ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
    expect_refused(address);
}

TEST_F(ForeignMemory, MemoryWithAnotherKindOfNameIsNotMapped) {
    std::string address = nobody(1);
    address[address.size() - 2] = 'x';
    put(address, 0600);
    expect_refused(address);
}

}  // namespace
}  // namespace cinnabar::ofi
