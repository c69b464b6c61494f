// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include "usage.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

namespace cinnabar::bench {
namespace {

void wait_for(pid_t pid, const std::string& what) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) throw std::runtime_error{what + ": waitpid: " + std::strerror(errno)};
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error{what + " failed"};
}

std::vector<char*> arguments_of(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    return arguments;
}

[[noreturn]] void fail_to(const char* what) {
    throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)};
}

// False once it has ended. It stays a zombie then, so that its id is not reused before it is waited for.
bool still_runs(pid_t pid) noexcept {
    siginfo_t ended{};
    return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

}  // namespace

void run_forked(const std::function<void()>& body) {
    std::fflush(nullptr);
    const auto pid = fork();
    if (pid < 0) throw std::runtime_error{std::string{"fork: "} + std::strerror(errno)};
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            body();
            _exit(0);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "the client process: %s\n", error.what());
        }
        _exit(1);
    }
    wait_for(pid, "the client process");
}

void run_command(const std::vector<std::string>& words) {
    const auto arguments = arguments_of(words);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error{words.front() + ": " + std::strerror(failed)};
    wait_for(pid, words.front());
}

StartedCommand::StartedCommand(const std::vector<std::string>& words) : name_(words.front()) {
    const auto arguments = arguments_of(words);
    int ends[2];  // closed by the kernel when the command begins; otherwise it carries why it does not
    if (pipe2(ends, O_CLOEXEC) != 0) fail_to("make a pipe");
    const UniqueFd output{ends[0]};
    UniqueFd input{ends[1]};
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) fail_to("fork");
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
        execvp(arguments[0], arguments.data());
        const int why = errno;
        (void)!write(input.get(), &why, sizeof why);
        _exit(127);
    }
    input.reset();
    int why = 0;
    ssize_t got = 0;
    do {
        got = read(output.get(), &why, sizeof why);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return;
    kill_now();
    throw std::runtime_error{name_ + ": " + std::strerror(why)};
}

StartedCommand::~StartedCommand() { kill_now(); }

bool StartedCommand::runs() const noexcept { return pid_ >= 0 && still_runs(pid_); }

void StartedCommand::wait() { wait_for(std::exchange(pid_, -1), name_); }

void StartedCommand::kill_now() noexcept {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
}

Daemon::Daemon(const std::vector<std::string>& words, int core) {
    const auto arguments = arguments_of(words);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{std::string{"pipe: "} + std::strerror(errno)};
    const UniqueFd output{ends[0]};
    UniqueFd input{ends[1]};
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error{std::string{"fork: "} + std::strerror(errno)};
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin_to(core);
        dup2(input.get(), STDOUT_FILENO);
        execvp(arguments[0], arguments.data());
        std::perror(arguments[0]);
        _exit(127);
    }
    input.reset();
    char byte = 0;
    while (read(output.get(), &byte, 1) == 1 && byte != '\n') first_line_ += byte;
    if (byte != '\n') {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        throw std::runtime_error{words.front() + " did not start"};
    }
}

bool Daemon::runs() const noexcept { return still_runs(pid_); }

Daemon::~Daemon() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

}  // namespace cinnabar::bench
