// SPDX-License-Identifier: BSD-3-Clause
// Child processes: a function or a command that runs to its end, and a command that serves until it is destroyed. They
// throw std::runtime_error if something fails.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace cinnabar::bench {

// Forks, runs `body` in the child and waits for the child. `body` must not rely on threads of the parent.
void run_forked(const std::function<void()>& body);

// Runs a command found in PATH, discards its standard output, and waits for its end.
void run_command(const std::vector<std::string>& words);

// A command that prints a line when it is ready. It is pinned to a core, and killed by the destructor or when this
// process dies.
class Daemon {
  public:
    Daemon(const std::vector<std::string>& words, int core);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    [[nodiscard]] const std::string& first_line() const noexcept { return first_line_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // False if it has ended by itself.
    [[nodiscard]] bool runs() const noexcept;

  private:
    pid_t pid_ = -1;
    std::string first_line_;
};

}  // namespace cinnabar::bench
