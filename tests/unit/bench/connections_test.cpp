// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/connections.hpp"

#include "bench/harness/child.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace cinnabar::bench {
namespace {

TEST(Connections, AreTheConnectedSocketsOfATable) {
    std::istringstream table{
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:9C41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 501 1 0 100 0\n"
        "   1: 0100007F:9C41 0100007F:A1B2 01 00000000:00000000 02:000004E2 00000000     0        0 502 2 0 20 4\n"
        "   2: 0100007F:A1B2 0100007F:9C41 01 00000000:00000000 02:000004E2 00000000     0        0 503 2 0 20 4\n"
        "   3: 0100007F:A1B2 0100007F:9C42 06 00000000:00000000 03:00000A31 00000000     0        0 0 3 0\n"
        "half a line\n"};
    Inodes found;
    add_connected(table, found);
    EXPECT_EQ(found, (Inodes{502, 503}));
}

TEST(Connections, OfThisProcess) {
    const auto before = connections_of(getpid(), connected_sockets());
    const UniqueFd listener{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(bind(listener.get(), any, size), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), any, &size), 0);
    const UniqueFd near{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ASSERT_EQ(connect(near.get(), any, size), 0);
    const UniqueFd far{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    EXPECT_EQ(connections_of(getpid(), connected_sockets()), before + 2);
    EXPECT_EQ(connections_of(-1, connected_sockets()), 0u);
}

TEST(Connections, ChildrenOfThisProcess) {
    const StartedCommand command{{"cat", "/dev/zero"}};
    const auto children = children_of(getpid());
    if (children.empty()) GTEST_SKIP() << "this kernel does not tell the children of a process";
    EXPECT_EQ(std::count(children.begin(), children.end(), command.pid()), 1);
    EXPECT_TRUE(children_of(command.pid()).empty());
}

}  // namespace
}  // namespace cinnabar::bench
