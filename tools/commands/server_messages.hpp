// SPDX-License-Identifier: BSD-3-Clause
// The messages of `cinnabar serve`, as text or lines of JSON: the server's address, files saved and failed, refused
// clients, and warnings of the library. All messages pass through an Outlet, so that the loop never waits for a slow
// reader.
#pragma once

#include "commands/commands.hpp"
#include "terminal/outlet.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/files/server.hpp>

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {

class ServerMessages {
  public:
    // The number of refusals reported per second. Further ones are only counted, because anybody can cause any number.
    static constexpr std::uint64_t refusals_told_max = 20;

    // Receives the library's log while it exists, so only one object may exist at a time. `options` must outlive it.
    explicit ServerMessages(const ServeOptions& options, TimeSource& clock = steady_clock());
    // Requires: all nodes, and with them all threads that log, have ended.
    ~ServerMessages();
    ServerMessages(const ServerMessages&) = delete;
    ServerMessages& operator=(const ServerMessages&) = delete;

    void ready(const std::string& address, const std::vector<std::string>& endpoints);
    // Call it on the loop.
    void tell(const files::ServerEvent& event);
    // Any thread.
    void complain(const std::string& text);

  private:
    static void take_log(const LogLine& line, void* user);
    void print(const std::string& text) { outlet_.tell({STDOUT_FILENO, text + "\n"}); }
    [[nodiscard]] bool may_tell_refusal();
    void tell_people(const files::ServerEvent& event);

    const ServeOptions& options_;
    TimeSource& clock_;
    TimeUs second_ends_ = 0;
    std::uint64_t refusals_ = 0;  // in this second
    Outlet outlet_;
};

}  // namespace cinnabar::tools
