// SPDX-License-Identifier: BSD-3-Clause
// Child processes: a function or a command that runs to its end, a command that runs beside this process, and one that
// serves until it is destroyed. They throw std::runtime_error if something fails.
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

// A command that runs beside this process, which watches it or kills it. It is found in PATH, its standard output is
// discarded, and it is killed by the destructor or when this process dies.
class StartedCommand {
  public:
    // Returns when the process is the command's own, and no longer a copy of this one.
    explicit StartedCommand(const std::vector<std::string>& words);
    ~StartedCommand();
    StartedCommand(const StartedCommand&) = delete;
    StartedCommand& operator=(const StartedCommand&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    // False once it has ended, by itself or not.
    [[nodiscard]] bool runs() const noexcept;
    // Waits for its end, which must be a success. Call it at most once.
    void wait();
    // Does nothing if it has ended.
    void kill_now() noexcept;

  private:
    std::string name_;
    pid_t pid_ = -1;  // -1: it was waited for
};

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
