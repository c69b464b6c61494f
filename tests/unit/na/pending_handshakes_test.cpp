// SPDX-License-Identifier: BSD-3-Clause
#include "bare_host.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/pending_handshakes.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::na {
namespace {

struct BarePort;

// Waits for a greeting that never comes.
struct BareHandshake : PoolSlot {
    void start(BarePort& port, UniqueFd fd) noexcept;
    void drop() noexcept;
    ListLink<BareHandshake> link;
    BarePort* port = nullptr;
    UniqueFd fd;
    std::string from;  // the address of the other side
};

struct BarePort {
    [[nodiscard]] bool may_accept() const noexcept { return true; }
    PendingHandshakes<BarePort, BareHandshake>* handshakes = nullptr;
    std::set<std::string> pending;
};

void BareHandshake::start(BarePort& of, UniqueFd accepted) noexcept {
    port = &of;
    fd = std::move(accepted);
    from = SocketAddress::peer_of(fd.get()).endpoint("tcp");
    of.pending.insert(from);
}

void BareHandshake::drop() noexcept {
    port->pending.erase(from);
    fd.reset();
    port->handshakes->left(*this);
}

class PendingHandshakesTest : public ::testing::Test {
  protected:
    PendingHandshakesTest()
        : listener_(listen_at(resolve(Uri::parse("tcp://0.0.0.0:0").value(), Purpose::listen).value()).value()) {
        port_.handshakes = &handshakes_;
        EXPECT_TRUE(handshakes_.watch(listener_.get()));
    }
    ~PendingHandshakesTest() override { handshakes_.close(); }

    // Connects from 127.0.0.`host`, and returns the address.
    std::string connect(std::uint8_t host) {
        sockaddr_in from{};
        from.sin_family = AF_INET;
        from.sin_addr.s_addr = htonl(0x7f000000u + host);
        sockaddr_in to = from;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(SocketAddress::local_of(listener_.get()).port());
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        handshakes_.on_ready(EPOLLIN);
        dialled_.push_back(std::move(fd));
        return SocketAddress::local_of(dialled_.back().get()).endpoint("tcp");
    }
    [[nodiscard]] bool is_pending(const std::string& from) const { return port_.pending.contains(from); }

    BareHost host_;
    BarePort port_;
    UniqueFd listener_;
    PendingHandshakes<BarePort, BareHandshake> handshakes_{port_, host_, "tcp"};
    std::vector<UniqueFd> dialled_;
};

TEST_F(PendingHandshakesTest, ASlowOneOutlivesAFloodFromAnotherHost) {
    const std::string slow = connect(2);
    const std::string first = connect(3);
    for (int i = 0; i < 400; ++i) (void)connect(3);
    EXPECT_TRUE(is_pending(slow));
    EXPECT_FALSE(is_pending(first));
    EXPECT_EQ(port_.pending.size(), 256u);
}

TEST_F(PendingHandshakesTest, AHostThatComesDuringAFloodIsAdmitted) {
    for (int i = 0; i < 300; ++i) (void)connect(3);
    const std::string late = connect(2);
    for (int i = 0; i < 300; ++i) (void)connect(3);
    EXPECT_TRUE(is_pending(late));
}

TEST_F(PendingHandshakesTest, OfOneHostTheOldestIsDropped) {
    const std::string first = connect(3);
    const std::string second = connect(3);
    for (int i = 0; i < 254; ++i) (void)connect(3);
    EXPECT_TRUE(is_pending(first));
    (void)connect(3);
    EXPECT_FALSE(is_pending(first));
    EXPECT_TRUE(is_pending(second));
}

TEST(PendingSourcesTest, CountsWhatComesAndGoes) {
    PendingSources sources;
    EXPECT_EQ(sources.most(), 0u);
    for (std::uint32_t i = 0; i < PendingSources::pending_max; ++i) sources.enter(i, i);  // each from elsewhere
    EXPECT_EQ(sources.most(), 1u);
    sources.leave(0);
    sources.enter(0, 255);
    EXPECT_EQ(sources.most(), 2u);
    EXPECT_EQ(sources.beside(0), 2u);
    EXPECT_EQ(sources.beside(255), 2u);
    EXPECT_EQ(sources.beside(1), 1u);
    for (std::uint32_t i = 0; i < PendingSources::pending_max; ++i) sources.leave(i);
    EXPECT_EQ(sources.most(), 0u);
}

SocketAddress v6(const char* text) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    EXPECT_EQ(::inet_pton(AF_INET6, text, &address.sin6_addr), 1);
    return SocketAddress(reinterpret_cast<const sockaddr*>(&address));
}

TEST(PendingSourcesTest, AnIpv6NetworkIsOneSource) {
    EXPECT_EQ(source_of(v6("2001:db8:1:2::1")), source_of(v6("2001:db8:1:2:ffff:ffff:ffff:ffff")));
    EXPECT_NE(source_of(v6("2001:db8:1:2::1")), source_of(v6("2001:db8:1:3::1")));
    EXPECT_NE(source_of(v6("::ffff:10.0.0.1")), source_of(v6("::ffff:10.0.0.2"))) << "IPv4 addresses are hosts";
}

TEST(PendingSourcesTest, AUserOfThisHostIsOneSource) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    const UniqueFd one(fds[0]);
    const UniqueFd other(fds[1]);
    EXPECT_EQ(source_of_connection(one.get()), ::geteuid());
}

}  // namespace
}  // namespace cinnabar::na
