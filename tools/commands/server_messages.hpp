// SPDX-License-Identifier: BSD-3-Clause
// What `cinnabar serve` tells, for people or as lines of JSON: its address, what came of files, who was refused, and
// the warnings of the library. All of it goes through an Outlet: whoever should read it may never do so, and the loop
// must not wait.
#pragma once

#include "commands/commands.hpp"
#include "session/server.hpp"
#include "terminal/outlet.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {

class ServerMessages {
  public:
    // Refusals that are told in a second; more are counted, since strangers can cause as many as they like.
    static constexpr std::uint64_t refusals_told_max = 20;

    // Takes the log of the library, until its end. `options` must outlive it. One at a time.
    explicit ServerMessages(const ServeOptions& options, TimeSource& clock = steady_clock());
    // Requires: all nodes have gone, and with them the threads that log.
    ~ServerMessages();
    ServerMessages(const ServerMessages&) = delete;
    ServerMessages& operator=(const ServerMessages&) = delete;

    void ready(const std::string& address, const std::vector<std::string>& endpoints);
    // On the loop.
    void tell(const ServerEvent& event);
    // Any thread.
    void complain(const std::string& text);

  private:
    static void take_log(LogLevel level, std::string_view line, void* user);
    void print(const std::string& text) { outlet_.tell({STDOUT_FILENO, text + "\n"}); }
    [[nodiscard]] bool may_tell_refusal();
    void tell_people(const ServerEvent& event);

    const ServeOptions& options_;
    TimeSource& clock_;
    TimeUs second_ends_ = 0;
    std::uint64_t refusals_ = 0;  // in this second
    Outlet outlet_;
};

}  // namespace cinnabar::tools
