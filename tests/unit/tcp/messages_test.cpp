// SPDX-License-Identifier: BSD-3-Clause
// Lane 0: which messages are sent with one system call, and how partial input is put together to messages.
#include "fixture.hpp"
#include "raw_socket.hpp"
#include "support/system_calls.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

using Messages = TcpTest;

// A raw peer whose handshake is done.
RawSocket shake(Process& process, const std::function<testing::AssertionResult(const std::function<bool()>&)>& until,
                na::Incarnation incarnation = 77) {
    RawSocket raw(process.endpoint());
    raw.write(dial_greeting(incarnation));
    std::optional<Greeting> answer;
    EXPECT_TRUE(until([&] { return (answer = raw.take_greeting()).has_value(); }));
    EXPECT_EQ(answer->hello.kind, na::HelloKind::accept);
    return raw;
}

TEST_F(Messages, SmallOnesOfOneRoundAreSentWithOneSystemCall) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    pump_.run_for(Microseconds(1000));
    pump_.remove(*server.context);
    std::uint64_t sent_calls = 0;
    {
        const na::Context::Ownership own(*client.context);
        for (na::Tag tag = 10; tag < 74; ++tag) {
            TestOp& test = ops_.emplace_back();
            test.op.peer = &there;
            test.op.tag = tag;
            test.op.message = client.port().take_message();
            test.op.message_bytes = 64;
            support::fill_pattern(test.op.message->bytes().first(64), tag);
            ASSERT_EQ(client.context->post_owned(test.op), Errc::ok);
        }
        const std::uint64_t before = support::system_calls();
        client.port().flush();
        sent_calls = support::system_calls() - before;
    }
    EXPECT_EQ(sent_calls, 1u) << support::system_calls_by_name();
    pump_.add(*server.context);
    ASSERT_TRUE(until([&] { return server.receiver.messages.size() == 65; }));
    for (na::Tag tag = 10; tag < 74; ++tag) {
        const auto& got = server.receiver.messages[tag - 9];
        EXPECT_EQ(got.tag, tag) << "in order";
        EXPECT_TRUE(support::holds_pattern(got.bytes, tag));
    }
}

TEST_F(Messages, AllSizesArriveInOneStream) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    const std::vector<std::size_t> sizes{0, 1, 7, 8, 9, 63, 64, 1000, 2047, 2048, 2049, 4096, 16 * 1024 - 1, 16 * 1024};
    std::size_t count = 0;
    for (int round = 0; round < 20; ++round) {
        for (const std::size_t size : sizes) (void)send(client, there, ++count, size);
    }
    ASSERT_TRUE(until([&] { return server.receiver.messages.size() == count; }));
    for (std::size_t i = 0; i < count; ++i) {
        const auto& got = server.receiver.messages[i];
        EXPECT_EQ(got.tag, i + 1);
        ASSERT_EQ(got.bytes.size(), sizes[i % sizes.size()]);
        EXPECT_TRUE(support::holds_pattern(got.bytes, got.tag));
    }
}

TEST_F(Messages, AreDeliveredByteByByte) {
    Process& server = open();
    RawSocket raw = shake(server, [this](const auto& done) { return until(done); });
    std::vector<std::byte> bytes;
    for (const std::size_t size : {std::size_t{5}, std::size_t{300}}) {
        std::vector<std::byte> frame(frame_header_bytes + padded(size));
        Frame{FrameKind::expected, 0, Errc::ok, static_cast<std::uint32_t>(size), size}.encode(
            std::span<std::byte, frame_header_bytes>(frame.data(), frame_header_bytes));
        support::fill_pattern(Bytes(frame).subspan(frame_header_bytes, size), size);
        bytes.insert(bytes.end(), frame.begin(), frame.end());
    }
    for (const std::byte& byte : bytes) {
        raw.write(ConstBytes(&byte, 1));
        (void)pump_.round();
    }
    ASSERT_TRUE(until([&] { return server.receiver.messages.size() == 2; }));
    for (const auto& got : server.receiver.messages) {
        EXPECT_TRUE(got.expected);
        EXPECT_EQ(got.bytes.size(), got.tag);
        EXPECT_TRUE(support::holds_pattern(got.bytes, got.tag));
    }
}

TEST_F(Messages, ArrivalsAreAligned) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    std::size_t seen = 0;
    server.receiver.on_arrival = [&](na::Arrival& arrival) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrival.bytes.data()) % 8, 0u);
        ++seen;
    };
    for (na::Tag tag = 1; tag <= 200; ++tag) (void)send(client, there, tag, tag * 31 % 5000);
    EXPECT_TRUE(until([&] { return seen == 200; }));
}

TEST_F(Messages, KeptOnesAreNotOverwritten) {
    na::TransportOptions options = listening();
    options.receive_slots = 100;
    Process& server = open("tcp://127.0.0.1:0", options);
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    std::vector<std::pair<na::Tag, na::Kept>> kept;
    unsigned overloaded = 0;
    server.receiver.on_arrival = [&](na::Arrival& arrival) {
        kept.emplace_back(arrival.tag, na::Kept{});
        const Errc taken = server.port().keep(arrival, kept.back().second);
        if (taken != Errc::ok) {
            EXPECT_EQ(taken, Errc::overloaded);
            kept.pop_back();
            ++overloaded;
        }
    };
    for (na::Tag tag = 1; tag <= 150; ++tag) (void)send(client, there, tag, 1 + tag * 97 % 16000);
    ASSERT_TRUE(until([&] { return server.receiver.messages.size() == 150; }));
    EXPECT_EQ(kept.size(), 100u);
    EXPECT_EQ(overloaded, 50u);
    const na::Context::Ownership own(*server.context);
    for (auto& [tag, one] : kept) {
        EXPECT_TRUE(support::holds_pattern(one.bytes, tag));
        if (tag % 2 == 0) {
            EXPECT_EQ(server.port().detach(one), Errc::ok);
            EXPECT_TRUE(support::holds_pattern(one.bytes, tag));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.bytes.data()) % 8, 0u);
        }
        server.port().release(one);
    }
}

TEST_F(Messages, ABlockedSenderContinuesWhenThereIsRoom) {
    na::TransportOptions options = listening();
    options.message_bytes_max = 1024 * 1024;
    Process& server = open("tcp://127.0.0.1:0", options);
    Process& client = open("tcp://", options);
    na::Peer& there = peer(client, server);
    connect(client, there, server);
    pump_.remove(*server.context);
    for (na::Tag tag = 1; tag <= 64; ++tag) (void)send(client, there, tag, 1024 * 1024);
    pump_.run_for(Microseconds(20'000));
    EXPECT_FALSE(ops_.back().done()) << "64 MiB fit into no socket buffer";
    pump_.add(*server.context);
    EXPECT_TRUE(until([&] { return server.receiver.messages.size() == 65; }));
    EXPECT_TRUE(support::holds_pattern(server.receiver.messages.back().bytes, 64));
}

// epoll reports room, but less than needed, while another connection has something to write.
TEST_F(Messages, ASleepingBlockedSenderContinuesWhenThereIsSomeRoom) {
    Process& client = open("tcp://", {}, {.spin_max = Microseconds(0)});
    std::vector<Process*> servers;
    for (int i = 0; i < 2; ++i) {
        Process& server = *servers.emplace_back(&open());
        na::Peer& there = peer(client, server);
        connect(client, there, server);
        pump_.remove(*server.context);
        for (na::Tag tag = 1; tag <= 2000; ++tag) (void)send(client, there, tag, 16 * 1024);
    }
    pump_.run_for(Microseconds(5000));
    ASSERT_FALSE(ops_.back().done()) << "the kernel takes it all";
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (servers[0]->receiver.messages.size() + servers[1]->receiver.messages.size() < 4002) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
        for (Process* server : servers) (void)server->context->progress(Microseconds(0));
        (void)client.context->progress(Microseconds(1000));
    }
    EXPECT_TRUE(std::all_of(ops_.begin(), ops_.end(), [](const TestOp& op) { return op.result == Errc::ok; }));
}

TEST_F(Messages, ACanceledSendIsNotSent) {
    Process& server = open();
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    {
        const na::Context::Ownership own(*client.context);
        TestOp& first = send(client, there, 1);
        TestOp& second = send(client, there, 2);
        client.context->cancel_owned(first.op);
        EXPECT_FALSE(first.done()) << "never from inside the call";
        (void)second;
    }
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(2) == 1; }));
    EXPECT_EQ(ops_[0].result, Errc::canceled);
    EXPECT_EQ(ops_[1].result, Errc::ok);
    EXPECT_EQ(server.receiver.count_tag(1), 0u);
}

TEST_F(Messages, TheSmallerLimitHoldsForAPair) {
    na::TransportOptions small = listening();
    small.message_bytes_max = 1000;
    Process& server = open("tcp://127.0.0.1:0", small);
    Process& client = open("tcp://");
    na::Peer& there = peer(client, server);
    TestOp& large = send(client, there, 1, 1001);
    TestOp& fits = send(client, there, 2, 1000);
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(2) == 1; }));
    EXPECT_TRUE(fits.done());
    EXPECT_EQ(large.result, Errc::too_large) << "posted before the limit was known";
    EXPECT_EQ(there.message_bytes_max(), 1000u);
}

}  // namespace
}  // namespace cinnabar::tcp
