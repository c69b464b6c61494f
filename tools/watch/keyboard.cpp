// SPDX-License-Identifier: BSD-3-Clause
#include "watch/keyboard.hpp"

#include "terminal/write_all.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cinnabar::tools::watch {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l";  // alternate screen, cursor hidden
constexpr std::string_view leave = "\x1b[?25h\x1b[?1049l";

}  // namespace

bool has_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

Terminal::Terminal() {
    (void)::tcgetattr(STDIN_FILENO, &before_);
    termios single = before_;
    single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    single.c_cc[VMIN] = 0;
    single.c_cc[VTIME] = 0;
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &single);
    write_all(STDOUT_FILENO, enter);
}

Terminal::~Terminal() {
    write_all(STDOUT_FILENO, leave);
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Terminal::Size Terminal::size() {
    winsize found{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return {};
    return {found.ws_col, found.ws_row};
}

void Terminal::show(const std::vector<std::string>& lines) {
    std::string text = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool head = i == 0 || i == 2 || i + 1 == lines.size();
        text.append(i == 0 ? "" : "\r\n").append(head ? "\x1b[7m" : "").append(lines[i]);
        text.append(head ? "\x1b[0m\x1b[K" : "\x1b[K");
    }
    write_all(STDOUT_FILENO, text);
}

char Terminal::key(std::chrono::milliseconds span) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, static_cast<int>(span.count())) <= 0) return 0;
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';  // end of input: quit
}

}  // namespace cinnabar::tools::watch
