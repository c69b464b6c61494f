// SPDX-License-Identifier: BSD-3-Clause
#include "process.hpp"

#include "commands/address.hpp"
#include "support/content.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace cinnabar::tools {
namespace {

using support::Folder;

using Clock = std::chrono::steady_clock;

bool has(const Words& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

// The key of servers that others could reach. Servers that stay on one host make a key for their own user.
const std::string& common_key_file() {
    static const std::string path = [] {
        const auto file = runtime_folder() / "common key";
        std::ofstream(file) << "a key of the tests that is long enough\n";
        std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
        return file.string();
    }();
    return path;
}

// The addresses of the servers that have the common key.
std::vector<std::string>& servers_with_common_key() {
    static std::vector<std::string> addresses;
    return addresses;
}

// Whether others could reach a server with these options.
bool is_open(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i - 1] == "--listen" && !stays_on_host(words[i]).value_or(true)) return true;
    }
    return false;
}

// Adds the transport of this run: the same tests run over each transport (CMakeLists.txt).
Words with_defaults(const std::string& root, const Words& more) {
    Words words{"serve", "--root", root};
    words.insert(words.end(), more.begin(), more.end());
    const char* const where = std::getenv("CINNABAR_TEST_LISTEN");
    if (!where) return words;
    if (!has(words, "--listen")) words.insert(words.end(), {"--listen", where});
    const bool says = has(words, "--key-file") || has(words, "--insecure");
    if (!is_open(words)) return words;
    if (!says) words.insert(words.end(), {"--key-file", common_key_file()});
    if (!has(words, "--clear")) words.emplace_back("--clear");
    return words;
}

// Makes a client of a server with the common key prove it, unless the client has another key.
Words with_key(const Words& words) {
    static constexpr std::array clients{"save", "fetch", "copy", "list", "remove", "verify", "stat"};
    const auto is_keyed = [](const std::string& word) {
        return std::ranges::any_of(servers_with_common_key(),
                                   [&](const std::string& address) { return word.starts_with(address); });
    };
    if (words.empty() || std::ranges::find(clients, words.front()) == clients.end() || has(words, "--key-file") ||
        std::ranges::none_of(words, is_keyed))
        return words;
    Words keyed = words;
    keyed.insert(keyed.begin() + 1, {"--key-file", common_key_file()});
    return keyed;
}

[[noreturn]] void become(const Words& words, int out, int err, const Surroundings& in) {
    (void)::dup2(out, STDOUT_FILENO);
    (void)::dup2(err, STDERR_FILENO);
    if (in.prepare && !in.prepare()) {
        ::perror("the surroundings of the command could not be made");
        ::_exit(125);
    }
    if (in.file_bytes_max != 0) {
        const rlimit limit{in.file_bytes_max, in.file_bytes_max};
        (void)::setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (in.files_max != 0) {
        const rlimit limit{in.files_max, in.files_max};
        (void)::setrlimit(RLIMIT_NOFILE, &limit);
    }
    rlimit files{};
    if (in.files_at_first != 0 && ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = in.files_at_first;
        (void)::setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)::setenv("XDG_RUNTIME_DIR", runtime_folder().c_str(), 1);
    for (const auto& variable : in.environment) (void)::putenv(const_cast<char*>(variable.c_str()));
    // Opened before the user changes, who may not have access to the program's folder.
    const int program = ::open(CINNABAR_TOOL, O_RDONLY | O_CLOEXEC);
    if (in.user && (::setgroups(0, nullptr) != 0 || ::setgid(*in.user) != 0 || ::setuid(*in.user) != 0)) ::_exit(126);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);  // so that a test that crashes leaves nothing running
    std::vector<char*> arguments{const_cast<char*>("cinnabar")};
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    (void)::fexecve(program, arguments.data(), environ);
    ::_exit(127);
}

}  // namespace

bool eventually(const std::function<bool()>& happened, std::chrono::seconds limit) {
    const auto end = Clock::now() + limit;
    while (!happened()) {
        if (Clock::now() > end) return false;
        (void)::poll(nullptr, 0, 1);
    }
    return true;
}

const std::filesystem::path& runtime_folder() {
    static const Folder folder;
    return folder.path();
}

Process::Process(const Words& words, const Surroundings& in) {
    (void)runtime_folder();  // made before a child could make a folder of its own
    const Words arguments = with_key(words);
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(err.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) become(arguments, in.out_fd < 0 ? out[1] : in.out_fd, err[1], in);
    ::close(out[1]);
    ::close(err[1]);
    out_.fd = out[0];
    err_.fd = err[0];
}

Process::~Process() {
    if (!exit_) {
        send(SIGKILL);
        (void)wait();
    }
    if (out_.fd >= 0) ::close(out_.fd);
    if (err_.fd >= 0) ::close(err_.fd);
}

void Process::send(int signal) const { EXPECT_EQ(::kill(pid_, signal), 0); }

void Process::drain(std::chrono::milliseconds limit) {
    std::array<pollfd, 2> wanted{{{out_.fd, POLLIN, 0}, {err_.fd, POLLIN, 0}}};
    if (::poll(wanted.data(), wanted.size(), static_cast<int>(limit.count())) <= 0) return;
    std::array<char, 65536> buffer;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!wanted.at(i).revents) continue;
        Stream& stream = i == 0 ? out_ : err_;
        const ssize_t count = ::read(stream.fd, buffer.data(), buffer.size());
        if (count > 0) {
            stream.text.append(buffer.data(), static_cast<std::size_t>(count));
        } else {
            ::close(stream.fd);
            stream.fd = -1;
        }
    }
}

void Process::reap() {
    int status = 0;
    rusage usage{};
    if (::wait4(pid_, &status, WNOHANG, &usage) != pid_) return;
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    memory_most_ = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::optional<int> Process::wait_unread(std::chrono::seconds limit) {
    (void)eventually(
        [this] {
            if (!exit_) reap();
            return exit_.has_value();
        },
        limit);
    return exit_;
}

std::optional<int> Process::wait(std::chrono::seconds limit) {
    const auto end = Clock::now() + limit;
    while (!exit_ && Clock::now() < end) {
        // The pipes are read meanwhile, so that the process never waits for this one. When both are closed, it has
        // ended or is about to.
        drain(std::chrono::milliseconds(out_.fd < 0 && err_.fd < 0 ? 1 : 10));
        reap();
    }
    if (exit_) {
        while ((out_.fd >= 0 || err_.fd >= 0) && Clock::now() < end) drain(std::chrono::milliseconds(100));
    }
    return exit_;
}

std::string Process::out() {
    drain(std::chrono::milliseconds(0));
    return out_.text;
}

std::string Process::err() {
    drain(std::chrono::milliseconds(0));
    return err_.text;
}

std::string Process::read_line(std::chrono::seconds limit) {
    const auto end = Clock::now() + limit;
    for (;;) {
        const auto newline = out_.text.find('\n', lines_read_);
        if (newline != std::string::npos) {
            auto line = out_.text.substr(lines_read_, newline - lines_read_);
            lines_read_ = newline + 1;
            return line;
        }
        if (out_.fd < 0 || Clock::now() > end) return {};
        drain(std::chrono::milliseconds(100));
    }
}

Outcome run(const Words& words, const Surroundings& in) {
    Process process(words, in);
    Outcome outcome;
    const auto exit = process.wait(std::chrono::seconds(100));
    EXPECT_TRUE(exit) << "it did not end: " << process.err();
    outcome.exit = exit.value_or(-1);
    outcome.out = process.out();
    outcome.err = process.err();
    return outcome;
}

Serving::Serving(const std::string& root, const Words& more, const Surroundings& in)
    : Serving(with_defaults(root, more), in) {}

Serving::Serving(const Words& words, const Surroundings& in) : process_(words, in) {
    const std::string line = process_.read_line();
    constexpr std::string_view prefix = "listening on ";
    constexpr std::string_view key = "\"address\": \"";  // of --json
    if (line.starts_with(prefix)) {
        uri_ = line.substr(prefix.size());
    } else if (const auto at = line.find(key); at != std::string::npos) {
        const auto begin = at + key.size();
        uri_ = line.substr(begin, line.find('"', begin) - begin);
    }
    EXPECT_FALSE(uri_.empty()) << line << process_.err();
    if (has(words, common_key_file())) servers_with_common_key().push_back(uri_);
}

}  // namespace cinnabar::tools
