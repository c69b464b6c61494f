// SPDX-License-Identifier: BSD-3-Clause
// A second process that a test can stop and kill.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

extern char** environ;

namespace cinnabar::test {

class OtherProcess {
  public:
    explicit OtherProcess(std::string program, std::string role = "", std::string address = "") {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        const UniqueFd out(ends[1]);
        in_ = UniqueFd(ends[0]);
        posix_spawn_file_actions_t actions;
        (void)::posix_spawn_file_actions_init(&actions);
        (void)::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
        std::array<char*, 4> arguments{program.data(), role.empty() ? nullptr : role.data(),
                                       address.empty() ? nullptr : address.data(), nullptr};
        EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
        (void)::posix_spawn_file_actions_destroy(&actions);
    }
    ~OtherProcess() { kill(); }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;
    // The first line that it prints.
    [[nodiscard]] std::string line() const {
        std::string said;
        for (char c = 0; ::read(in_.get(), &c, 1) == 1 && c != '\n';) said += c;
        return said;
    }
    void stop() const { EXPECT_EQ(::kill(pid_, SIGSTOP), 0); }
    void go_on() const { EXPECT_EQ(::kill(pid_, SIGCONT), 0); }
    void kill() {
        if (pid_ <= 0) return;
        (void)::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

  private:
    UniqueFd in_;
    pid_t pid_ = 0;
};

}  // namespace cinnabar::test
