// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar ping` and `info` towards a server, as processes.
#include "process.hpp"
#include "support/folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace cinnabar::tools {
namespace {

struct PingProcess : testing::Test {
    support::Folder root;
    Serving serving{root.path().string()};
};

TEST_F(PingProcess, OneThatIsInterruptedHasSucceededIfAReplyArrived) {
    Process ping({"ping", "-c", "1000000", "-i", "0", "-W", "0.2", serving.uri()});
    EXPECT_NE(ping.read_line().find("over "), std::string::npos);
    EXPECT_NE(ping.read_line().find(" time="), std::string::npos);
    serving.process().send(SIGSTOP);
    EXPECT_TRUE(eventually([&] { return ping.err().find("timed out") != std::string::npos; }));
    ping.send(SIGINT);  // in the middle of the next call
    EXPECT_EQ(ping.wait(), 0) << ping.err();
    EXPECT_EQ(ping.err().find("cancel"), std::string::npos) << ping.err();
    EXPECT_NE(ping.out().find(" received\n"), std::string::npos);
}

TEST_F(PingProcess, OneThatIsInterruptedBeforeAnyReplyWasInterrupted) {
    serving.process().send(SIGSTOP);
    Process ping({"ping", "-W", "3600", serving.uri()});
    EXPECT_NE(ping.read_line().find("over "), std::string::npos);
    ping.send(SIGINT);
    EXPECT_EQ(ping.wait(), 9) << ping.err();
    EXPECT_NE(ping.out().find("0 received\n"), std::string::npos) << ping.out();
}

TEST_F(PingProcess, OneThatIsNotAnsweredSaysWhereItsTimeWent) {
    Process ping({"ping", "-c", "1000000", "-i", "0", "-W", "0.2", serving.uri()});
    EXPECT_NE(ping.read_line().find("over "), std::string::npos);
    EXPECT_NE(ping.read_line().find(" time="), std::string::npos);
    serving.process().send(SIGSTOP);
    EXPECT_TRUE(eventually([&] { return ping.err().find("timed out") != std::string::npos; }));
    EXPECT_TRUE(eventually([&] { return ping.err().find(", ended after ") != std::string::npos; })) << ping.err();
    EXPECT_NE(ping.err().find("waiting for the answer for "), std::string::npos) << ping.err();
    ping.send(SIGKILL);
    EXPECT_EQ(ping.wait(), 128 + SIGKILL);
}

TEST_F(PingProcess, PingAndInfo) {
    const auto ping = run({"ping", "-c", "3", "-i", "0", "--json", serving.uri()});
    EXPECT_EQ(ping.exit, 0) << ping.err;
    EXPECT_EQ(std::count(ping.out.begin(), ping.out.end(), '\n'), 4) << ping.out;
    EXPECT_NE(ping.out.find(R"("sent": 3, "received": 3)"), std::string::npos) << ping.out;
    const auto info = run({"info", "-v", serving.uri()});
    EXPECT_EQ(info.exit, 0) << info.err;
    EXPECT_NE(info.out.find("tcp://"), std::string::npos) << info.out;
    EXPECT_NE(info.out.find("shm://"), std::string::npos) << info.out;
    EXPECT_NE(info.out.find("answers in"), std::string::npos) << info.out;
    EXPECT_NE(info.out.find("reached by"), std::string::npos) << info.out;
    const auto tcp = info.out.find("  tcp://");
    ASSERT_NE(tcp, std::string::npos) << info.out;
    const auto abilities = info.out.find("      can ", tcp);
    ASSERT_NE(abilities, std::string::npos) << info.out;
    const std::string line = info.out.substr(abilities, info.out.find('\n', abilities) - abilities);
    EXPECT_NE(line.find("leases for one peer"), std::string::npos) << line;
    EXPECT_NE(info.out.find("atomics by the owner"), std::string::npos) << info.out;
    // For libfabric: the choice, the number of alternatives, and the providers that nobody has tested.
    if (const auto ofi = info.out.find("  ofi://"); ofi != std::string::npos) {
        for (const char* part : {"; the best of ", ", domain ", "cxi (UNTESTED)", "tcp;ofi_rxm"}) {
            EXPECT_NE(info.out.find(part, ofi), std::string::npos) << part << '\n' << info.out;
        }
    }
}

}  // namespace
}  // namespace cinnabar::tools
