// SPDX-License-Identifier: BSD-3-Clause
// Whether a peer's process still lives, which decides whether its accesses do.
#include "peer_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cinnabar::shm {
namespace {

TEST(PeerProcessTest, has_ended_before_its_parent_waits_for_it) {
    EXPECT_FALSE(PeerProcess().has_ended()) << "not open";
    const pid_t child = ::fork();
    if (child == 0) {
        for (;;) ::pause();
    }
    ASSERT_GT(child, 0);
    PeerProcess process;
    const bool open = process.open(child);
    EXPECT_FALSE(process.has_ended());
    EXPECT_EQ(::kill(child, SIGKILL), 0);
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(process.has_ended(), open) << "the process id is still in use";
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(process.has_ended(), open);
}

}  // namespace
}  // namespace cinnabar::shm
