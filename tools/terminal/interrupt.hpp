// SPDX-License-Identifier: BSD-3-Clause
// Interrupt: SIGINT, SIGTERM and SIGHUP as a stop token: the first signal requests an orderly end, the second signal
// kills the process. Create one Interrupt, in the main thread and before any other thread, because threads inherit the
// signal mask.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <chrono>
#include <stop_token>
#include <thread>

namespace cinnabar::tools {

// Waits for at most `span`. True: a stop was requested.
bool wait_for(const std::stop_token& stop, std::chrono::duration<double> span);

class Interrupt {
  public:
    // Also ignores SIGPIPE and SIGXFSZ, so that a closed pipe or a file size limit is an error of the system call.
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }
    [[nodiscard]] bool happened() const noexcept { return source_.stop_requested(); }
    // Blocks until a signal arrives.
    void wait() const;
    // Waits for at most `span`. True: a signal has arrived.
    bool wait_for(std::chrono::duration<double> span) const { return tools::wait_for(token(), span); }

  private:
    void watch();
    UniqueFd signals_;
    UniqueFd leave_;
    std::stop_source source_;
    std::thread thread_;
};

}  // namespace cinnabar::tools
