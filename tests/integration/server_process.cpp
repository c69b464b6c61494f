// SPDX-License-Identifier: BSD-3-Clause
#include "server_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace cinnabar::test {

ServerProcess::ServerProcess(const std::vector<std::string>& arguments) {
    int in[2];
    int out[2];
    EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<char*> words{const_cast<char*>(CINNABAR_TWO_PROCESS_SERVER)};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    stdin_ = in[1];
    read_address(out[0]);
    ::close(out[0]);
    EXPECT_FALSE(address_.empty()) << "the server did not come up";
}

ServerProcess::~ServerProcess() { end(SIGKILL); }

void ServerProcess::read_address(int fd) {
    constexpr int limit_ms = 30'000;
    pollfd ready{fd, POLLIN, 0};
    char letter = 0;
    while (::poll(&ready, 1, limit_ms) == 1 && ::read(fd, &letter, 1) == 1 && letter != '\n') address_ += letter;
}

void ServerProcess::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

void ServerProcess::stop() const {
    signal(SIGSTOP);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
}

void ServerProcess::end(int number) {
    if (pid_ <= 0) return;
    signal(number);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    ::close(stdin_);
}

}  // namespace cinnabar::test
