// SPDX-License-Identifier: BSD-3-Clause
// Runs the built command in a pseudo-terminal of a given size.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {

class PseudoTerminal {
  public:
    PseudoTerminal(unsigned short width, unsigned short height, const std::vector<std::string>& words) {
        const winsize size{height, width, 0, 0};
        pid_ = ::forkpty(&fd_, nullptr, nullptr, &size);
        if (pid_ != 0) return;
        std::vector<char*> arguments{const_cast<char*>("cinnabar")};
        for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        ::execv(CINNABAR_TOOL, arguments.data());
        ::_exit(127);
    }
    ~PseudoTerminal() {
        if (pid_ > 0) {
            (void)::kill(pid_, SIGKILL);
            (void)::waitpid(pid_, nullptr, 0);
        }
        (void)::close(fd_);
    }
    PseudoTerminal(const PseudoTerminal&) = delete;
    PseudoTerminal& operator=(const PseudoTerminal&) = delete;

    void press(char key) const { EXPECT_EQ(::write(fd_, &key, 1), 1); }
    // Returns the lines of a complete screen that contains `part`, without escapes; empty after half a minute.
    std::vector<std::string> await_screen(const std::string& part) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (std::chrono::steady_clock::now() < end && read_more()) {
            const auto last = text_.rfind("\x1b[H");
            const auto before = last == std::string::npos || last == 0 ? last : text_.rfind("\x1b[H", last - 1);
            if (before == std::string::npos || before == last) continue;
            const std::string screen = text_.substr(before + 3, last - before - 3);
            if (screen.find(part) != std::string::npos) return lines_of(screen);
        }
        ADD_FAILURE() << "no \"" << part << "\" on the screen; the last was: " << text_;
        return {};
    }
    // Reads all output until the command ends; returns its exit code.
    std::optional<int> wait() {
        while (read_more()) {
        }
        int status = 0;
        if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0 || !WIFEXITED(status)) return {};
        return WEXITSTATUS(status);
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    // False at the end of the output, or if there was none for half a minute.
    bool read_more() {
        pollfd input{fd_, POLLIN, 0};
        if (::poll(&input, 1, 30'000) <= 0) return false;
        std::array<char, 65'536> some{};
        const ssize_t count = ::read(fd_, some.data(), some.size());
        if (count <= 0) return false;
        text_.append(some.data(), static_cast<std::size_t>(count));
        return true;
    }
    static std::vector<std::string> lines_of(const std::string& screen) {
        std::vector<std::string> lines(1);
        for (std::size_t i = 0; i < screen.size(); ++i) {
            if (screen[i] == '\x1b') {
                while (i < screen.size() && screen[i] != 'm' && screen[i] != 'K') ++i;
            } else if (screen[i] == '\n') {
                lines.emplace_back();
            } else if (screen[i] != '\r') {
                lines.back() += screen[i];
            }
        }
        return lines;
    }

    int fd_ = -1;
    pid_t pid_ = -1;
    std::string text_;
};

}  // namespace cinnabar::tools
