// SPDX-License-Identifier: BSD-3-Clause
#include "fixture.hpp"

#ifdef CINNABAR_TEST_OFIS
#include <cinnabar/plugins/ofi.hpp>
#endif
#ifdef CINNABAR_TEST_SEALED_TCP
#include "../sealed/sealed_tcp.hpp"
#endif

namespace cinnabar::tcp {

TestOp::TestOp() {
    op.user = this;
    op.complete = [](na::Op& self) noexcept {
        auto& test = *static_cast<TestOp*>(self.user);
        ++test.completions;
        test.result = self.result;
        if (self.message) self.message->port->give_message(*self.message);
        self.message = nullptr;
        if (test.then) test.then();
    };
}

na::Peer& Process::only_peer() const {
    CINNABAR_ASSERT(!receiver.events.empty());
    return *receiver.events.front().peer;
}

TcpTest::~TcpTest() {
    for (Process& process : processes_) close(process);
    for (const TestOp& op : ops_) EXPECT_EQ(op.completions, 1u) << "an op completes exactly once";
}

na::TransportOptions TcpTest::listening() {
    na::TransportOptions options;
    options.listen = true;
    return options;
}

na::Registry TcpTest::registry() {
    na::Registry both;
    EXPECT_TRUE(both.add(plugin_info));
#ifdef CINNABAR_PLUGIN_tcps
    EXPECT_TRUE(both.add(tls_plugin_info));
#endif
#ifdef CINNABAR_TEST_OFIS
    EXPECT_TRUE(both.add(ofi::plugin_info));
    EXPECT_TRUE(both.add(ofi::tls_plugin_info));
#endif
#ifdef CINNABAR_TEST_SEALED_TCP
    EXPECT_TRUE(both.add(tls::sealed_over_tcp));
#endif
    return both;
}

Process& TcpTest::open(const std::string& uri, na::TransportOptions options, na::ContextOptions context) {
    Process& process = processes_.emplace_back();
    process.transport = registry().open(uri, options).value();
    na::Transport* const transports[] = {process.transport.get()};
    process.context = na::Context::open(transports, context, process.receiver).value();
    pump_.add(*process.context);
    return process;
}

Process& TcpTest::open_sibling(Process& first, na::ContextId id) {
    Process& process = processes_.emplace_back();
    na::ContextOptions options;
    options.id = id;
    na::Transport* const transports[] = {first.transport.get()};
    process.context = na::Context::open(transports, options, process.receiver).value();
    pump_.add(*process.context);
    return process;
}

void TcpTest::close(Process& process) {
    if (!process.context) return;
    pump_.remove(*process.context);
    process.context->close();
    for (auto& [owner, peer] : held_) {
        if (owner != &process || !peer) continue;
        peer->release();
        peer = nullptr;
    }
    process.context.reset();
    for (Lent& lent : lent_) {
        if (!lent.lease.granted() || &lent.memory->transport() != process.transport.get()) continue;
        revoke(process, lent);
        lent.memory.reset();
    }
}

na::Peer& TcpTest::peer(Process& from, const std::string& uri) { return peer_at(from, na::Addr::parse(uri).value()); }

na::Peer& TcpTest::peer_at(Process& from, const na::Addr& addr) {
    const na::Context::Ownership own(*from.context);
    na::Peer* found = from.context->peer(addr).value();
    found->acquire();
    held_.emplace_back(&from, found);
    return *found;
}

TestOp& TcpTest::send(Process& from, na::Peer& to, na::Tag tag, std::size_t bytes, na::OpKind kind) {
    TestOp& test = ops_.emplace_back();
    test.op.kind = kind;
    test.op.peer = &to;
    test.op.tag = tag;
    test.op.message = from.port().take_message();
    test.op.message_bytes = static_cast<std::uint32_t>(bytes);
    support::fill_pattern(test.op.message->bytes().first(bytes), tag);
    EXPECT_EQ(from.context->post(test.op), Errc::ok);
    return test;
}

TestOp& TcpTest::rma(Process& from, na::Peer& to, na::OpKind kind, na::Memory& local, const Lent& remote,
                     std::uint64_t bytes, std::uint64_t offset) {
    TestOp& test = ops_.emplace_back();
    test.op.kind = kind;
    test.op.peer = &to;
    test.op.local = &local;
    test.op.remote = remote.remote();
    test.op.remote_offset = offset;
    test.op.bytes = bytes;
    EXPECT_EQ(from.context->post(test.op), Errc::ok);
    return test;
}

std::unique_ptr<na::Memory> TcpTest::registered(Process& process, std::vector<na::Segment> segments,
                                                na::Access access) {
    return process.transport->register_memory(segments, access).value();
}

Lent& TcpTest::lend(Process& process, std::vector<na::Segment> segments, na::Access access) {
    Lent& lent = lent_.emplace_back();
    lent.memory = registered(process, std::move(segments), access);
    lent.lease.memory = lent.memory.get();
    lent.lease.bytes = lent.memory->bytes();
    lent.lease.access = access;
    EXPECT_EQ(process.transport->grant(lent.lease), Errc::ok);
    ByteWriter writer(lent.key);
    process.transport->describe(lent.lease, writer);
    EXPECT_TRUE(writer.ok());
    return lent;
}

void TcpTest::revoke(Process& process, Lent& lent) { EXPECT_EQ(process.transport->revoke(lent.lease), Errc::ok); }

testing::AssertionResult TcpTest::until(const std::function<bool()>& done) {
    return pump_.until(done) ? testing::AssertionSuccess() : testing::AssertionFailure() << "it never came";
}

void TcpTest::connect(Process& from, na::Peer& to, Process& target) {
    const std::size_t before = target.receiver.messages.size();
    (void)send(from, to, 1);
    ASSERT_TRUE(until([&] { return target.receiver.messages.size() > before; }));
}

}  // namespace cinnabar::tcp
