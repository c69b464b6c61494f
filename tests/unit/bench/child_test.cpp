// SPDX-License-Identifier: BSD-3-Clause
// Commands beside this process, and what the kernel tells about them.
#include "bench/harness/child.hpp"

#include "bench/harness/command_subject.hpp"
#include "bench/harness/process_status.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

TEST(StartedCommand, RunsUntilItIsKilled) {
    StartedCommand command{{"cat", "/dev/zero"}};  // its output goes nowhere, without an end
    EXPECT_TRUE(command.runs());
    // The kernel counts pages in batches, so it may tell of none at first.
    std::uint64_t most = 0;
    for (int tries = 0; most == 0 && tries < 5000; ++tries) {
        (void)poll(nullptr, 0, 1);
        most = resident_bytes_max_of(command.pid());
    }
    EXPECT_GT(most, 0u);
    command.kill_now();
    EXPECT_FALSE(command.runs());
    command.kill_now();
}

TEST(StartedCommand, WaitsForItsEnd) {
    StartedCommand good{{"true"}};
    good.wait();
    EXPECT_FALSE(good.runs());
    StartedCommand bad{{"false"}};
    EXPECT_THROW(bad.wait(), std::runtime_error);
}

TEST(StartedCommand, OneThatIsNotThereIsAnErrorAtOnce) {
    try {
        const StartedCommand command{{"no-such-command-of-cinnabar"}};
        ADD_FAILURE() << "it runs";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "no-such-command-of-cinnabar: No such file or directory");
    }
}

TEST(StartedCommand, TheDestructorKillsIt) {
    pid_t pid = -1;
    {
        const StartedCommand command{{"cat", "/dev/zero"}};
        pid = command.pid();
    }
    EXPECT_EQ(kill(pid, 0), -1);
    EXPECT_EQ(resident_bytes_max_of(pid), 0u);
}

TEST(CommandSubject, PreparesRunsAndCounts) {
    int prepared = 0;
    const auto subject = make_command({{"true"}, [&] { ++prepared; }, [&] { return prepared * 5.0; }});
    EXPECT_EQ(subject->run_slice({}).work, 5);
    const auto slice = subject->run_slice({});
    EXPECT_EQ(slice.work, 10);
    EXPECT_GT(slice.seconds, 0);
    EXPECT_EQ(prepared, 2);
}

TEST(CommandSubject, ACommandThatFailsIsAnError) {
    const auto subject = make_command({{"false"}, {}, [] { return 1.0; }});
    EXPECT_THROW((void)subject->run_slice({}), std::runtime_error);
}

}  // namespace
}  // namespace cinnabar::bench
