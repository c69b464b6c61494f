// SPDX-License-Identifier: BSD-3-Clause
#include "partner.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr int report_timeout_ms = 20'000;
constexpr int leave_timeout_ms = 1'000;
constexpr char begin_command = 'b';
constexpr char leave_command = 'l';

[[noreturn]] void fail(const char* what) { throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)}; }

void write_all(int fd, const char* from, std::size_t size) {
    while (size > 0) {
        const auto wrote = write(fd, from, size);
        if (wrote < 0) fail("write to the other process");
        from += wrote;
        size -= static_cast<std::size_t>(wrote);
    }
}

[[noreturn]] void run_child(pid_t parent, int core, PartnerSide side, const std::function<void(PartnerSide&)>& body) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    pin_to(core);
    try {
        body(side);
        _exit(0);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "the server process: %s\n", error.what());
    }
    _exit(1);
}

}  // namespace

void PartnerSide::announce(const std::string& line) {
    const auto text = line + "\n";
    write_all(reports_, text.data(), text.size());
}

bool PartnerSide::wait_slice() {
    char command = 0;
    ssize_t got = 0;
    do {
        got = read(commands_, &command, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1 || command != begin_command) return false;
    at_begin_ = usage_now();
    write_all(reports_, "b", 1);
    return true;
}

void PartnerSide::end_slice() {
    page_.server_usage = usage_now() - at_begin_;
    write_all(reports_, "e", 1);
}

Partner::Partner(int core, const std::function<void(PartnerSide&)>& body) {
    void* page = mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) fail("mmap");
    page_ = new (page) SharedPage;
    int commands[2];
    int reports[2];
    // A socket, since writing to a pipe whose reader has died raises a signal.
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, commands) != 0 || pipe(reports) != 0) fail("pipe");
    const auto parent = getpid();
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
        close(commands[1]);
        close(reports[0]);
        run_child(parent, core, PartnerSide{*page_, commands[0], reports[1]}, body);
    }
    close(commands[0]);
    close(reports[1]);
    commands_.reset(commands[1]);
    reports_.reset(reports[0]);
    try {
        announced_ = read_report(true);
    } catch (...) {
        end();
        throw;
    }
}

Partner::~Partner() { end(); }

// A partner that waits for a slice returns by itself, so that it can release what the system would keep, such as named
// shared memory.
void Partner::end() noexcept {
    page_->running.store(false);
    pollfd wait{reports_.get(), POLLIN, 0};
    char byte = 0;
    if (send(commands_.get(), &leave_command, 1, MSG_NOSIGNAL) == 1) {
        while (poll(&wait, 1, leave_timeout_ms) == 1 && read(reports_.get(), &byte, 1) == 1) {
        }
    }
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(page_, sizeof(SharedPage));
}

void Partner::begin_slice() {
    page_->server_work.store(0, std::memory_order_relaxed);
    page_->client_work.store(0, std::memory_order_relaxed);
    page_->client_finished.store(false, std::memory_order_relaxed);
    page_->running.store(true);
    write_all(commands_.get(), &begin_command, 1);
    read_report(false);
}

Usage Partner::finish_slice() {
    ask_to_stop();
    read_report(false);
    return page_->server_usage;
}

std::string Partner::read_report(bool whole_line) {
    std::string text;
    for (;;) {
        pollfd wait{reports_.get(), POLLIN, 0};
        const int ready = poll(&wait, 1, report_timeout_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) throw std::runtime_error{"the server process does not answer"};
        char byte = 0;
        if (read(reports_.get(), &byte, 1) != 1) throw std::runtime_error{"the server process died"};
        if (!whole_line) return text;
        if (byte == '\n') return text;
        text += byte;
    }
}

}  // namespace cinnabar::bench
