// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace cinnabar::tools {
namespace {

TEST(RemotePath, ServerAndPath) {
    const auto remote = parse_remote_path("tcp://127.0.0.1:7000/logs/a b?c%2e").value();
    EXPECT_EQ(remote.server, "tcp://127.0.0.1:7000");
    EXPECT_EQ(remote.path, "logs/a b?c%2e") << "byte for byte";
    EXPECT_EQ(parse_remote_path("tcp://[::1]:7000").value().path, "");
    EXPECT_EQ(parse_remote_path("tcp://host:1/").value().path, "");
    EXPECT_EQ(parse_remote_path("tcp://host:1//etc").value().path, "/etc") << "refused later, as any absolute path";
    for (const char* bad : {"", "file", "/a/b", "://x", "C:/x"})
        EXPECT_EQ(parse_remote_path(bad).code(), Errc::bad_address) << bad;
}

TEST(RemotePath, ServersOfSeveralEndpoints) {
    const auto remote = parse_remote_path("tcp://[::1]:7000,shm://files?host=0a/logs/a,b://c").value();
    EXPECT_EQ(remote.server, "tcp://[::1]:7000,shm://files?host=0a");
    EXPECT_EQ(remote.path, "logs/a,b://c");
    EXPECT_EQ(parse_remote_path("tcp://a,b/x").value().server, "tcp://a,b");
    EXPECT_EQ(parse_remote_path("tcp://a,shm://b").value().server, "tcp://a,shm://b");
    EXPECT_EQ(parse_remote_path("tcp://h:1/x,tcp://h:2").value().path, "x,tcp://h:2");
}

TEST(Address, FolderAndLeaf) {
    EXPECT_EQ(join_name("", "a"), "a");
    EXPECT_EQ(join_name("logs", "a"), "logs/a");
    EXPECT_EQ(join_name("logs/", "a"), "logs/a");
    EXPECT_EQ(join_name("/", "a"), "a");
}

TEST(Address, FolderOfThisHostAndWhatIsBelow) {
    EXPECT_EQ(join_path("/", "etc/a"), "/etc/a");
    EXPECT_EQ(join_path("/tmp/", "a"), "/tmp/a");
    EXPECT_EQ(join_path("../logs", "a"), "../logs/a");
    EXPECT_EQ(join_path(".", "a"), "a");
}

TEST(Address, WhatStaysOnTheHost) {
    for (const char* local : {"tcp://127.0.0.1:0", "tcp://127.9.9.9:1", "tcp://[::1]:0", "tcp://localhost:0",
                              "tcp://[::ffff:127.0.0.1]:0", "tcp://127.1:0"})
        EXPECT_TRUE(stays_on_host(local).value()) << local;
    for (const char* open :
         {"tcp://0.0.0.0:0", "tcp://[::]:0", "tcp://:0", "tcp://", "tcp://example.org:1", "tcp://10.0.0.1:0",
          "tcp://localhost.example.org:0", "tcp://eth0:0", "tcp://1.127.0.0:0", "tcp://[::ffff:10.0.0.1]:0"})
        EXPECT_FALSE(stays_on_host(open).value()) << open;
    EXPECT_TRUE(stays_on_host("shm://x").value());
    EXPECT_FALSE(stays_on_host("shm://x?group=users").value()) << "its members are others";
    EXPECT_EQ(stays_on_host("malformed").code(), Errc::bad_address);
}

TEST(Address, WhomTheKernelLetsIn) {
    for (const char* own : {"shm://x", "shm://", "self://x"}) EXPECT_TRUE(admits_own_user_only(own)) << own;
    for (const char* others : {"shm://x?group=staff", "shm://?group=staff", "tcp://127.0.0.1:1", "malformed"})
        EXPECT_FALSE(admits_own_user_only(others)) << others;
}

TEST(Address, WhatTheKernelConnectsToThisHost) {
    for (const char* here : {"tcp://127.0.0.1:1", "tcp://[::1]:1", "tcp://[::ffff:127.0.0.1]:1", "tcp://127.1:1",
                             "tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://:1", "tcp://localhost:1", "ofi+shm://127.0.0.1"})
        EXPECT_TRUE(dials_loopback(here)) << here;
    for (const char* elsewhere : {"tcp://10.0.0.1:1", "tcp://[::ffff:10.0.0.1]:1", "shm://x", "shm://localhost?group=1",
                                  "self://x", "malformed"})
        EXPECT_FALSE(dials_loopback(elsewhere)) << elsewhere;
}

// On Debian, /etc/hosts gives the host's own name to 127.0.1.1.
TEST(Address, NamesOfTheLoopbackAreLookedUp) {
    std::ifstream hosts("/etc/hosts");
    for (std::string line; std::getline(hosts, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string number;
        if (!(words >> number) || !number.starts_with("127.")) continue;
        for (std::string name; words >> name;) EXPECT_TRUE(dials_loopback("tcp://" + name + ":1")) << name;
    }
}

TEST(Address, AServerReachesAnotherByATransportThatBothHave) {
    EXPECT_EQ(reachable_from("tcp://1.2.3.4:5,shm://a", "shm://b"), "shm://a");
    EXPECT_EQ(reachable_from("tcp://1.2.3.4:5,shm://a", "tcp://6.7.8.9:1,shm://b"), "tcp://1.2.3.4:5,shm://a");
    EXPECT_EQ(reachable_from("tcp://1.2.3.4:5", "shm://b"), "tcp://1.2.3.4:5") << "it may have more than it names";
    EXPECT_EQ(reachable_from("tcp://1.2.3.4:5,tcp://[::1]:6,shm://a,b", "tcp://6.7.8.9:1"),
              "tcp://1.2.3.4:5,tcp://[::1]:6");
}

}  // namespace
}  // namespace cinnabar::tools
