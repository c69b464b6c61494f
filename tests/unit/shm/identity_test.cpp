// SPDX-License-Identifier: BSD-3-Clause
// Hand-made incoming connections that claim to be another peer.
#include "raw_peer.hpp"

namespace cinnabar::shm {
namespace {

class IdentityTest : public ShmTest {
  protected:
    // A listening process besides that of the fixture.
    struct Process {
        std::unique_ptr<na::Transport> transport;
        support::RecordingReceiver receiver;
        std::unique_ptr<na::Context> context;
    };
    void open(Process& process, const std::string& uri) {
        na::TransportOptions options;
        options.listen = true;
        process.transport = plugin_info.open(na::Uri::parse(uri).value(), options).value();
        na::Transport* const transport = process.transport.get();
        process.context = na::Context::open({&transport, 1}, {}, process.receiver).value();
        pump_.add(*process.context);
    }
    void post(na::Op& op, na::Peer& to, na::Tag tag) {
        op.peer = &to;
        op.tag = tag;
        op.message = to.port().take_message();
        op.message_bytes = 8;
        op.complete = [](na::Op& self) noexcept { self.message->port->give_message(*self.message); };
        ASSERT_EQ(context_->post_owned(op), Errc::ok);
    }
    // Dials the process of the fixture with that incarnation.
    void claim(RawPeer& raw, na::Incarnation incarnation) {
        raw.hello.incarnation = incarnation;
        ASSERT_NO_FATAL_FAILURE(raw.dial(path()));
        ASSERT_NO_FATAL_FAILURE(raw.greet());
        ASSERT_EQ(answer_to(raw), Errc::ok);
        ASSERT_NO_FATAL_FAILURE(raw.take_answer());
    }
};

TEST_F(IdentityTest, AClaimToBeALostServerGetsNoneOfItsMessages) {
    Process server;
    open(server, "shm://other");
    na::Peer& there = *context_->peer(na::Addr::parse("shm://other").value()).value();
    there.acquire();
    na::Op first;
    post(first, there, 1);
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(1) == 1; }));
    there.port().disconnect(there);
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    RawPeer liar;
    ASSERT_NO_FATAL_FAILURE(claim(liar, server.transport->incarnation()));
    ASSERT_TRUE(until([this] { return receiver_.count(na::PeerEvent::connected) == 2; }));
    EXPECT_EQ(there.state(), na::PeerState::idle);
    na::Op second;
    post(second, there, 2);
    ASSERT_TRUE(until([&] { return server.receiver.count_tag(2) == 1; }));
    Record record;
    EXPECT_NE(liar.reader.next(record), RingReader::Look::record);
    there.release();
    pump_.remove(*server.context);
    server.context.reset();
}

// The kernel tells the process; the incarnation distinguishes the transports of one process.
TEST_F(IdentityTest, TwoWithTheSameClaimAreTwoPeers) {
    RawPeer first;
    RawPeer second;
    ASSERT_NO_FATAL_FAILURE(claim(first, 77));
    ASSERT_NO_FATAL_FAILURE(claim(second, 77));
    for (const auto& [raw, tag] : {std::pair{&first, 5}, std::pair{&second, 6}}) {
        Record record;
        record.kind = RecordKind::unexpected;
        record.bytes = 8;
        record.id = static_cast<std::uint64_t>(tag);
        raw->write(record);
        raw->ring_bell();
    }
    ASSERT_TRUE(until([this] { return receiver_.messages.size() == 2; }));
    const na::Addr& one = receiver_.messages[0].source->addr();
    const na::Addr& two = receiver_.messages[1].source->addr();
    EXPECT_FALSE(one == two);
    EXPECT_FALSE(one.body().own || two.body().own);
}

}  // namespace
}  // namespace cinnabar::shm
