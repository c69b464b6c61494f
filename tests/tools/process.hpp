// SPDX-License-Identifier: BSD-3-Clause
// The built command as a process: started, waited for with a limit, and killed if the test ends first.
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

// Waits until `happened`, checking every millisecond; false after `limit`.
[[nodiscard]] bool eventually(const std::function<bool()>& happened,
                              std::chrono::seconds limit = std::chrono::seconds(30));

// How the environment of a process differs from this one. Its XDG_RUNTIME_DIR is a folder of the tests, so that keys
// that a server makes for its user are not stored in the real user's folder.
struct Surroundings {
    std::size_t file_bytes_max = 0;             // limit for the size of its files; 0: none
    rlim_t files_max = 0;                       // hard limit for descriptors; 0: as in this process
    rlim_t files_at_first = 0;                  // soft limit for descriptors, which it may raise; 0: as above
    int out_fd = -1;                            // becomes its stdout instead of the pipe
    std::optional<uid_t> user = {};             // needs root
    std::vector<std::string> environment = {};  // "NAME=value", in addition to this process's environment
    // Run in the new process, as the user of this one, before it becomes the command, for example to enter a namespace.
    // False: it ends with 125, and says why by errno.
    std::function<bool()> prepare = {};
};

class Process {
  public:
    explicit Process(const Words& words, const Surroundings& in = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send(int signal) const;
    // The exit code, or 128 + the signal that ended the process; nullopt if it still runs after `limit`.
    [[nodiscard]] std::optional<int> wait(std::chrono::seconds limit = std::chrono::seconds(60));
    // The same, but the pipes are not read meanwhile, so the process must be able to end without that.
    [[nodiscard]] std::optional<int> wait_unread(std::chrono::seconds limit = std::chrono::seconds(60));
    [[nodiscard]] int pid() const { return pid_; }
    // The maximum of its resident memory, in bytes. Valid once it has ended.
    [[nodiscard]] std::size_t memory_most() const { return memory_most_; }
    // The output so far; all of it after wait().
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

// The result of a command that has ended.
struct Outcome {
    int exit = -1;
    std::string out;
    std::string err;
};
[[nodiscard]] Outcome run(const Words& words, const Surroundings& in = {});
// The folder in which the processes of this test program keep private files of their user.
[[nodiscard]] const std::filesystem::path& runtime_folder();

// `cinnabar serve` on a root, ready. `uri` is empty if it did not start. A server that others could reach has a key,
// which clients of this program prove, unless the test gives either of them another one.
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
