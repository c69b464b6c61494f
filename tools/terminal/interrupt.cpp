// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/interrupt.hpp"

#include "terminal/exit_code.hpp"

#include <cinnabar/base/assert.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace cinnabar::tools {

Interrupt::Interrupt() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    CINNABAR_ASSERT(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
    (void)::signal(SIGPIPE, SIG_IGN);
    (void)::signal(SIGXFSZ, SIG_IGN);
    signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC));
    leave_.reset(::eventfd(0, EFD_CLOEXEC));
    CINNABAR_ASSERT(signals_ && leave_);
    thread_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
    constexpr std::uint64_t one = 1;
    (void)!::write(leave_.get(), &one, sizeof one);
    thread_.join();
}

void Interrupt::watch() {
    for (;;) {
        std::array<pollfd, 2> wanted{{{signals_.get(), POLLIN, 0}, {leave_.get(), POLLIN, 0}}};
        if (::poll(wanted.data(), wanted.size(), -1) < 0) continue;
        if (wanted[1].revents) return;
        signalfd_siginfo happened{};
        if (::read(signals_.get(), &happened, sizeof happened) != sizeof happened) continue;
        if (!source_.request_stop()) ::_exit(static_cast<int>(ExitCode::interrupted));
    }
}

void Interrupt::wait() const {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    (void)changed.wait(lock, token(), [] { return false; });
}

bool wait_for(const std::stop_token& stop, std::chrono::duration<double> span) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    (void)changed.wait_for(lock, stop, span, [] { return false; });
    return stop.stop_requested();
}

}  // namespace cinnabar::tools
