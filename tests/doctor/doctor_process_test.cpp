// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar doctor` as a process, on this machine, and with limits that are deliberately bad.
#include "tools/process.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar::tools {
namespace {

TEST(DoctorProcess, TellsWhatItFindsAndExitsByIt) {
    const auto outcome = run({"doctor", "--json"});
    EXPECT_EQ(outcome.out.rfind("{\"version\": \"", 0), 0u) << outcome.out;
    EXPECT_NE(outcome.out.find("\"id\": \"transport-tcp\", \"severity\": \"good\""), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\"exit\": " + std::to_string(outcome.exit) + "}\n"), std::string::npos) << outcome.out;
    const auto verbose = run({"doctor", "-v"});
    EXPECT_NE(verbose.out.find("good      localhost"), std::string::npos) << verbose.out;
    EXPECT_NE(verbose.out.find(" as they should be\n"), std::string::npos) << verbose.out;
}

TEST(DoctorProcess, ALimitThatIsTooLowIsAProblem) {
    Surroundings in;
    in.files_max = 256;
    const auto outcome = run({"doctor"}, in);
    EXPECT_NE(outcome.exit, 0);
    EXPECT_NE(outcome.out.find("problem   descriptors          at most 256 files"), std::string::npos) << outcome.out;
}

TEST(DoctorProcess, AServerThatIsNotThereIsAProblem) {
    const auto outcome = run({"doctor", "tcp://127.0.0.1:1", "--json"});
    EXPECT_NE(outcome.exit, 0);
    EXPECT_NE(outcome.out.find("\"id\": \"server-reach\", \"severity\": \"problem\""), std::string::npos)
        << outcome.out;
}

TEST(DoctorProcess, AServerIsMeasured) {
    Process server({"perf", "serve"});
    const std::string line = server.read_line();
    ASSERT_EQ(line.rfind("listening on ", 0), 0u) << line << server.err();
    const auto outcome = run({"doctor", "--json", line.substr(13)});
    EXPECT_NE(outcome.out.find("\"id\": \"server-bytes\", \"severity\": \"good\""), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace cinnabar::tools
