// SPDX-License-Identifier: BSD-3-Clause
// Child processes: a function or a command that is run to its end, and a command that serves until it is destroyed.
// They throw std::runtime_error when something fails.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace cinnabar::bench {

// Forks, runs `body` in the child and waits for it. `body` must not rely on threads of the parent.
void run_forked(const std::function<void()>& body);

// Runs a command, found in PATH, with its standard output thrown away, and waits for it.
void run_command(const std::vector<std::string>& words);

// A command that prints a line when it is ready; pinned to a core, killed at the end or when this process dies.
class Daemon {
  public:
    Daemon(const std::vector<std::string>& words, int core);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    [[nodiscard]] const std::string& first_line() const noexcept { return first_line_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // Whether it has not ended by itself.
    [[nodiscard]] bool runs() const noexcept;

  private:
    pid_t pid_ = -1;
    std::string first_line_;
};

}  // namespace cinnabar::bench
