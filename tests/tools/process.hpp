// SPDX-License-Identifier: BSD-3-Clause
// The built command as a process: started, watched with a limit on every wait, and killed if a test ends before it.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools {

using Words = std::vector<std::string>;

// Waits until `happened`, looking every millisecond; false after `limit`.
[[nodiscard]] bool eventually(const std::function<bool()>& happened,
                              std::chrono::seconds limit = std::chrono::seconds(30));

// How a process differs from this one. Its XDG_RUNTIME_DIR is a folder of the tests', so that keys that a server makes
// for its own user do not get into that of a person.
struct Surroundings {
    std::size_t file_bytes_max = 0;             // of its files; 0: no limit
    rlim_t files_max = 0;                       // descriptors, hard limit; 0: as here
    int out_fd = -1;                            // takes its stdout in place of the pipe
    std::optional<uid_t> user = {};             // needs root
    std::vector<std::string> environment = {};  // "NAME=value", beside this one's
};

class Process {
  public:
    explicit Process(const Words& words, const Surroundings& in = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send(int signal) const;
    // The exit code; 128 + the signal that ended it; nothing when it still runs after `limit`.
    [[nodiscard]] std::optional<int> wait(std::chrono::seconds limit = std::chrono::seconds(60));
    // The same, but its pipes are not read meanwhile: it must end by itself.
    [[nodiscard]] std::optional<int> wait_unread(std::chrono::seconds limit = std::chrono::seconds(60));
    [[nodiscard]] int pid() const { return pid_; }
    // The most memory that it had resident, in bytes; once it has ended.
    [[nodiscard]] std::size_t memory_most() const { return memory_most_; }
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
    std::size_t memory_most_ = 0;
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
[[nodiscard]] Outcome run(const Words& words, const Surroundings& in = {});
// Where the processes of this test program keep what belongs to their user alone.
[[nodiscard]] const std::filesystem::path& runtime_folder();

// `cinnabar serve` on a root, ready. `uri` is empty when it did not come up. Where others could reach it, it has a key
// that clients of this program prove, unless the tests give either another one.
class Serving {
  public:
    explicit Serving(const std::string& root, const Words& more = {}, const Surroundings& in = {});
    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] Process& process() { return process_; }

  private:
    Serving(const Words& words, const Surroundings& in);
    Process process_;
    std::string uri_;
};

}  // namespace cinnabar::tools
