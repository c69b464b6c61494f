// SPDX-License-Identifier: BSD-3-Clause
// The provider's connection breaks while the handshake socket stays open: the session ends on both sides.
#include "support/missing_here.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/uri.hpp>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cinnabar::ofi {
namespace {

using support::NetworkKind;
using support::Node;

class BrokenFabric : public testing::TestWithParam<NetworkKind> {
  protected:
    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        for (Node* node : {&a_, &b_}) {
            na::TransportOptions options;
            options.listen = true;
            node->transport = network_.open(node == &a_ ? "a" : "b", options).value();
            handshake_ports_.insert(na::Uri::parse(node->transport->endpoints().front()).value().port.value());
            na::ContextOptions one;
            one.threads = ThreadUse::one;
            na::Transport* const transport = node->transport.get();
            node->context = na::Context::open({&transport, 1}, one, node->receiver).value();
            pump_.add(*node->context);
        }
    }

    // Shuts down all connections of this process except handshake sockets; returns how many. A provider that only
    // writes then gets an error; one that reads returns its sends.
    unsigned shut_down_what_the_provider_has() {
        unsigned count = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            const int fd = std::stoi(entry.path().filename());
            sockaddr_in here{};
            sockaddr_in there{};
            socklen_t bytes = sizeof here;
            if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &bytes) != 0) continue;
            bytes = sizeof there;
            if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &bytes) != 0) continue;
            if (here.sin_family != AF_INET || handshake_ports_.contains(ntohs(here.sin_port)) ||
                handshake_ports_.contains(ntohs(there.sin_port))) {
                continue;
            }
            if (::shutdown(fd, SHUT_RD) == 0) ++count;
        }
        return count;
    }

    support::Network network_{GetParam()};
    support::Pump pump_;
    Node a_;
    Node b_;
    std::set<std::uint16_t> handshake_ports_;
};

TEST_P(BrokenFabric, EndsTheSessionDuringATransfer) {
    const std::size_t size = a_.transport->limits().rma_bytes_max;
    std::vector<std::byte> here(size);
    std::vector<std::byte> there(size, std::byte{1});
    const na::Segment into{here.data(), size};
    const na::Segment from{there.data(), size};
    auto local = a_.transport->register_memory({&into, 1}, na::Access::read_write).value();
    auto remote = b_.transport->register_memory({&from, 1}, na::Access::read).value();
    na::Lease lease;
    lease.memory = remote.get();
    lease.bytes = size;
    lease.access = na::Access::read;
    ASSERT_EQ(b_.transport->grant(lease), Errc::ok);
    std::vector<std::byte> key(b_.transport->described_bytes(lease));
    ByteWriter writer(key);
    b_.transport->describe(lease, writer);

    na::Op op;
    bool done = false;
    op.kind = na::OpKind::get;
    op.peer = a_.context->peer(b_.addr()).value();
    op.local = local.get();
    op.remote = {key, size};
    op.bytes = size;
    op.user = &done;
    op.complete = [](na::Op& self) noexcept { *static_cast<bool*>(self.user) = true; };
    ASSERT_EQ(a_.context->post_owned(op), Errc::ok);
    EXPECT_TRUE(pump_.until([&] { return a_.receiver.count(na::PeerEvent::connected) == 1; }));
    EXPECT_FALSE(done);
    // The reader makes no progress, so the provider still holds what the owner has sent.
    pump_.remove(*a_.context);
    for (int i = 0; i < 100; ++i) (void)pump_.round();
    EXPECT_GE(shut_down_what_the_provider_has(), 2u);
    EXPECT_TRUE(pump_.until([&] { return b_.receiver.count(na::PeerEvent::lost) == 1; }, std::chrono::seconds(5)));
    pump_.add(*a_.context);
    EXPECT_TRUE(pump_.until([&] { return done && a_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(op.result, Errc::peer_lost) << to_string(op.result);
    b_.context.reset();
    a_.context.reset();
    EXPECT_EQ(b_.transport->revoke(lease), Errc::ok) << "its owner still sends from it";
}

INSTANTIATE_TEST_SUITE_P(On, BrokenFabric, testing::Values(NetworkKind::ofi_tcp_rxm, NetworkKind::ofi_net),
                         [](const auto& param) { return std::string(support::to_string(param.param)); });

}  // namespace
}  // namespace cinnabar::ofi
