// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/socket.hpp>

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <fstream>
#include <string>

namespace cinnabar::na {
namespace {

struct Pair {
    UniqueFd dialled;
    UniqueFd accepted;
};

Pair connect_to(const std::string& endpoint) {
    const auto listener = listen_at(resolve(Uri::parse(endpoint).value(), Purpose::listen).value()).value();
    const SocketAddress bound = SocketAddress::local_of(listener.get());
    Pair pair;
    EXPECT_EQ(start_connect(bound, nullptr, pair.dialled), Errc::ok);
    pollfd incoming{listener.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&incoming, 1, 5000), 1);
    pair.accepted.reset(::accept(listener.get(), nullptr, nullptr));
    return pair;
}

std::string congestion_control(const UniqueFd& fd) {
    std::array<char, 32> name{};
    socklen_t bytes = name.size() - 1;
    EXPECT_EQ(::getsockopt(fd.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes), 0);
    return name.data();
}

bool reno_is_allowed() {
    std::ifstream allowed("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    for (std::string word; allowed >> word;) {
        if (word == "reno") return true;
    }
    return false;
}

TEST(Socket, NothingPacesConnectionsWithinAHost) {
    if (!reno_is_allowed()) GTEST_SKIP() << "reno is not allowed here";
    const Pair pair = connect_to("tcp://127.0.0.1:0");
    for (const UniqueFd* fd : {&pair.dialled, &pair.accepted}) {
        tune(fd->get(), Microseconds{0});
        EXPECT_EQ(congestion_control(*fd), "reno");
    }
}

}  // namespace
}  // namespace cinnabar::na
