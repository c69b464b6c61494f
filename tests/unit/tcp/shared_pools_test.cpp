// SPDX-License-Identifier: BSD-3-Clause
// Pools that all peers of a context share: a peer that uses one up loses its session, and others are not affected.
#include "fixture.hpp"
#include "raw_socket.hpp"
#include "support/system_calls.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <list>

namespace cinnabar::tcp {
namespace {

// A hand-made session that sends many requests and reads nothing.
struct Debtor {
    std::unique_ptr<RawSocket> messages;
    std::unique_ptr<RawSocket> bulk;
};

class SharedPools : public TcpTest {
  protected:
    // Starts a session with `gets` pending gets, none of which can complete.
    void owe(Process& server, const Lent& lent, unsigned gets) {
        Debtor& debtor = debtors_.emplace_back();
        const auto incarnation = static_cast<na::Incarnation>(debtors_.size());
        debtor.messages = std::make_unique<RawSocket>(server.endpoint());
        debtor.messages->write(dial_greeting(incarnation));
        std::optional<Greeting> accepted;
        ASSERT_TRUE(until([&] { return (accepted = debtor.messages->take_greeting()).has_value(); }));
        Greeting lane = dial_greeting(incarnation);
        lane.hello.kind = na::HelloKind::lane;
        lane.hello.lane = 1;
        lane.hello.peer_incarnation = server.transport->incarnation();
        lane.token = accepted->token;
        debtor.bulk = std::make_unique<RawSocket>(server.endpoint());
        debtor.bulk->write(lane);
        ASSERT_TRUE(until([&] { return debtor.bulk->take_greeting().has_value(); }));
        ByteReader reader(lent.key);
        FrameBody body;
        body.key = na::LeaseKey::decode(reader);
        body.left = lent.lease.bytes;
        ask(debtor, FrameKind::get, 0, gets, body);
    }
    // Sends `count` frames of that kind, with ids from `first` on.
    void ask(Debtor& debtor, FrameKind kind, std::uint64_t first, unsigned count, const FrameBody& body = {}) {
        std::vector<std::byte> many;
        for (std::uint64_t id = first; id < first + count; ++id) {
            std::array<std::byte, frame_header_bytes + frame_body_bytes_max> bytes{};
            const std::size_t size = encode_frame({kind, 0, Errc::ok, 0, id}, body, bytes);
            many.insert(many.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        }
        debtor.bulk->write(many);
        for (int i = 0; i < 30; ++i) (void)pump_.round();
    }
    void expect_served(Process& client, na::Peer& there, const Lent& lent) {
        std::vector<std::byte> here(64 * 1024);
        const auto local = registered(client, {{here.data(), here.size()}});
        const std::size_t before = ops_.size();
        for (int i = 0; i < 64; ++i) (void)rma(client, there, na::OpKind::get, *local, lent, here.size());
        for (int i = 0; i < 64; ++i) (void)rma(client, there, na::OpKind::fetch_add, *local, lent, 8);
        for (int i = 0; i < 64; ++i) (void)rma(client, there, na::OpKind::put, *local, lent, 4096);
        const auto first = ops_.begin() + static_cast<std::ptrdiff_t>(before);
        ASSERT_TRUE(until([&] { return std::all_of(first, ops_.end(), [](const TestOp& op) { return op.done(); }); }));
        EXPECT_TRUE(std::all_of(first, ops_.end(), [](const TestOp& op) { return op.result == Errc::ok; }));
        EXPECT_EQ(client.receiver.count(na::PeerEvent::lost), 0u);
    }
    std::vector<Debtor> debtors_;
};

TEST_F(SharedPools, APeerThatReadsNoAnswersDoesNotBlockOthers) {
    na::TransportOptions patient = listening();
    patient.keepalive = Microseconds(0);  // a peer that does not read must not count as lost
    Process& server = open("tcp://127.0.0.1:0", patient);
    Process& client = open("tcp://");
    std::vector<std::byte> memory(16 << 20);
    const Lent& lent = lend(server, {{memory.data(), memory.size()}});
    na::Peer& there = peer(client, server);
    const auto lost = [&] { return server.receiver.count(na::PeerEvent::lost); };
    // Each session takes as much as it may.
    for (int i = 0; i < 64; ++i) ASSERT_NO_FATAL_FAILURE(owe(server, lent, 1024));
    EXPECT_EQ(lost(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_served(client, there, lent));
    // Uses up the pool beyond the 64 that are each session's own share.
    for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(owe(server, lent, 1024));
    ASSERT_NO_FATAL_FAILURE(owe(server, lent, 64 + 64 * 1024 - 68 * (1024 - 64)));
    EXPECT_EQ(lost(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_served(client, there, lent));
    ASSERT_NO_FATAL_FAILURE(owe(server, lent, 64));
    EXPECT_EQ(lost(), 0u) << "its share";
    ASSERT_NO_FATAL_FAILURE(owe(server, lent, 65));
    EXPECT_EQ(lost(), 1u) << "more than its share";
    EXPECT_EQ(server.receiver.events.back().why, Errc::overloaded);
    ASSERT_NO_FATAL_FAILURE(expect_served(client, there, lent));
}

// A context that does not sleep finds out itself whether there is room again.
TEST_F(SharedPools, ManyBlockedConnectionsCostFewSystemCallsARound) {
    constexpr unsigned silent = 32;
    constexpr unsigned rounds = 500;
    constexpr unsigned calls_each_max = 20;
    na::TransportOptions patient = listening();
    patient.keepalive = Microseconds(0);
    Process& server = open("tcp://127.0.0.1:0", patient);
    std::vector<std::byte> memory(16 << 20);
    const Lent& lent = lend(server, {{memory.data(), memory.size()}});
    for (unsigned i = 0; i < silent; ++i) ASSERT_NO_FATAL_FAILURE(owe(server, lent, 1));
    // Runs until no connection is hot any more.
    for (unsigned i = 0; i < rounds; ++i) (void)pump_.round();
    const std::uint64_t before = support::thread_system_calls();
    for (unsigned i = 0; i < rounds; ++i) (void)pump_.round();
    EXPECT_LT(support::thread_system_calls() - before, rounds * calls_each_max) << support::system_calls_by_name();
    // Each connection gets its turn: a peer that reads receives everything.
    RawSocket& first = *debtors_.front().bulk;
    RawSocket& last = *debtors_.back().bulk;
    EXPECT_TRUE(until([&] { return first.received() > memory.size() && last.received() > memory.size(); }));
}

// Otherwise each stop would search all requests of the peer.
TEST_F(SharedPools, TooManyStoppedGetsEndTheSession) {
    constexpr std::uint64_t nobodys = 1'000'000;
    na::TransportOptions patient = listening();
    patient.keepalive = Microseconds(0);
    Process& server = open("tcp://127.0.0.1:0", patient);
    Process& client = open("tcp://");
    std::vector<std::byte> memory(16 << 20);
    const Lent& lent = lend(server, {{memory.data(), memory.size()}});
    na::Peer& there = peer(client, server);
    const auto lost = [&] { return server.receiver.count(na::PeerEvent::lost); };
    ASSERT_NO_FATAL_FAILURE(owe(server, lent, 64));
    ask(debtors_.back(), FrameKind::stop, nobodys, 10'000);
    EXPECT_EQ(lost(), 0u) << "they may have crossed the last data";
    ASSERT_NO_FATAL_FAILURE(owe(server, lent, 1024));
    EXPECT_EQ(lost(), 0u);
    ask(debtors_.back(), FrameKind::stop, nobodys, 1);
    EXPECT_EQ(lost(), 1u);
    EXPECT_EQ(server.receiver.events.back().why, Errc::overloaded);
    ASSERT_NO_FATAL_FAILURE(expect_served(client, there, lent));
}

// More sessions than the shared slots for own operations would have served: no session waits for another.
TEST_F(SharedPools, EverySessionIsAdmittedItsOperations) {
    constexpr na::ContextId sessions = 260;
    constexpr std::size_t admitted_each = 64;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
    if (limit.rlim_cur < 4 * sessions + 100) GTEST_SKIP() << "needs more descriptors";
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    RawListener listener;
    Process& client = open("tcp://");
    std::vector<std::byte> here(64);
    const auto local = registered(client, {{here.data(), here.size()}});
    Lent& none = lend(client, {{here.data(), here.size()}});  // any lease: its key is not checked
    struct Lane {
        std::unique_ptr<RawSocket> socket;
        std::optional<Greeting> greeting;
    };
    std::list<Lane> lanes;
    const auto serve = [&] {
        while (auto came = listener.accept()) lanes.push_back({std::make_unique<RawSocket>(std::move(*came)), {}});
        for (Lane& lane : lanes) {
            if (lane.greeting || !(lane.greeting = lane.socket->take_greeting())) continue;
            const na::Hello& asked = lane.greeting->hello;
            Greeting answer = dial_greeting(5, asked.peer_context);
            answer.hello.kind = na::HelloKind::accept;
            answer.hello.peer_incarnation = asked.incarnation;
            answer.hello.peer_context = asked.context;
            lane.socket->write(answer);
        }
    };
    for (na::ContextId id = 0; id < sessions; ++id) {
        na::Peer& there = peer(client, listener.endpoint() + "?context=" + std::to_string(id));
        for (std::size_t i = 0; i <= admitted_each; ++i) {
            (void)rma(client, there, na::OpKind::get, *local, none, here.size());
        }
        ASSERT_TRUE(until([&] {
            serve();
            return lanes.size() == 2u * (id + 1u) && lanes.back().greeting;
        }));
    }
    std::size_t asked = 0;
    EXPECT_TRUE(until([&] {
        asked = 0;
        for (const Lane& lane : lanes) {
            if (lane.greeting->hello.kind == na::HelloKind::lane) asked += lane.socket->received();
        }
        return asked == sessions * admitted_each * (frame_header_bytes + body_bytes(FrameKind::get));
    })) << asked / (frame_header_bytes + body_bytes(FrameKind::get));
    EXPECT_EQ(client.receiver.count(na::PeerEvent::lost), 0u);
}

}  // namespace
}  // namespace cinnabar::tcp
