// SPDX-License-Identifier: BSD-3-Clause
#include "server.hpp"

#include "harness/usage.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cinnabar::compare {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

// Starts the shell line in a process group of its own.
pid_t start(const std::string& line, int core, const std::filesystem::path& output) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) fail("fork");
    if (pid > 0) {
        (void)::setpgid(pid, pid);
        return pid;
    }
    (void)::setpgid(0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    bench::pin_to(core);
    const int to = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int from = ::open("/dev/null", O_RDONLY);
    (void)::dup2(from, STDIN_FILENO);
    (void)::dup2(to, STDOUT_FILENO);
    (void)::dup2(to, STDERR_FILENO);
    (void)::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
}

std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

void end_group(pid_t pid) noexcept {
    (void)::kill(-pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
}

}  // namespace

Server::Server(const std::string& line, int core, const std::filesystem::path& output)
    : pid_(start(line, core, output)) {}

Server::~Server() { end_group(pid_); }

bool Server::runs() const noexcept {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

ClientRun run_client(const std::string& line, int core, const std::filesystem::path& output, double seconds_max) {
    const double begin = bench::seconds_now();
    const pid_t pid = start(line, core, output);
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0 && bench::seconds_now() < begin + seconds_max)
        (void)::poll(nullptr, 0, 1);
    ClientRun run;
    run.seconds = bench::seconds_now() - begin;
    if (ended == 0) {
        end_group(pid);
        throw std::runtime_error("it does not end");
    }
    run.output = text_of(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("it fails: " + run.output);
    return run;
}

bool is_listened_on(std::uint16_t port) {
    constexpr const char* listens = "0A";
    for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream lines(table);
        std::string line;
        std::getline(lines, line);
        while (std::getline(lines, line)) {
            std::istringstream words(line);
            std::string number;
            std::string local;
            std::string remote;
            std::string state;
            words >> number >> local >> remote >> state;
            if (state == listens && std::stoul(local.substr(local.rfind(':') + 1), nullptr, 16) == port) return true;
        }
    }
    return false;
}

std::uint16_t free_port() {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd.get(), any, bytes) != 0 || ::getsockname(fd.get(), any, &bytes) != 0) fail("no port is free");
    return ntohs(address.sin_port);
}

}  // namespace cinnabar::compare
