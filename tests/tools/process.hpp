// SPDX-License-Identifier: BSD-3-Clause
// The built command as a process: started, watched with a limit on every wait, and killed if a test ends before it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools {

using Words = std::vector<std::string>;

// Waits until `happened`, looking every millisecond; false after `limit`.
[[nodiscard]] bool eventually(const std::function<bool()>& happened,
                              std::chrono::seconds limit = std::chrono::seconds(30));

class Process {
  public:
    // `file_bytes_max` limits the size of its files; 0: no limit. `out_fd` takes its stdout in place of the pipe.
    explicit Process(const Words& words, std::size_t file_bytes_max = 0, int out_fd = -1);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send(int signal) const;
    // The exit code; 128 + the signal that ended it; nothing when it still runs after `limit`.
    [[nodiscard]] std::optional<int> wait(std::chrono::seconds limit = std::chrono::seconds(60));
    // The same, but its pipes are not read meanwhile: it must end by itself.
    [[nodiscard]] std::optional<int> wait_unread(std::chrono::seconds limit = std::chrono::seconds(60));
    [[nodiscard]] int pid() const { return pid_; }
    // What it has written so far; all of it after wait().
    [[nodiscard]] std::string out();
    [[nodiscard]] std::string err();
    // The next line of stdout, without its newline; empty at the end, or after `limit`.
    [[nodiscard]] std::string read_line(std::chrono::seconds limit = std::chrono::seconds(30));

  private:
    struct Stream {
        int fd = -1;
        std::string text;
    };
    void drain(std::chrono::milliseconds limit);
    void reap();
    int pid_ = -1;
    std::optional<int> exit_;
    Stream out_;
    Stream err_;
    std::size_t lines_read_ = 0;
};

// Runs a command to its end.
struct Outcome {
    int exit = -1;
    std::string out;
    std::string err;
};
[[nodiscard]] Outcome run(const Words& words);

// `cinnabar serve` on a root, ready. `uri` is empty when it did not come up.
class Serving {
  public:
    explicit Serving(const std::string& root, const Words& more = {}, std::size_t file_bytes_max = 0);
    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] Process& process() { return process_; }

  private:
    Process process_;
    std::string uri_;
};

}  // namespace cinnabar::tools
