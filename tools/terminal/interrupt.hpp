// SPDX-License-Identifier: BSD-3-Clause
// SIGINT, SIGTERM and SIGHUP as a stop token: the first one asks for an orderly end, the second one ends the process.
// Made once, first thing in the main thread, since threads inherit what is blocked.
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
    // Also ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a size limit are errors of the call that met them.
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }
    [[nodiscard]] bool happened() const noexcept { return source_.stop_requested(); }
    // Blocks until it happens.
    void wait() const;
    // Waits for at most `span`. True: it has happened.
    bool wait_for(std::chrono::duration<double> span) const { return tools::wait_for(token(), span); }

  private:
    void watch();
    UniqueFd signals_;
    UniqueFd leave_;
    std::stop_source source_;
    std::thread thread_;
};

}  // namespace cinnabar::tools
