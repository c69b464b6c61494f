// SPDX-License-Identifier: BSD-3-Clause
// The terminal while `top` has it: keys come one by one, the other screen is shown, and all is as before at the end.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace cinnabar::tools::watch {

class Terminal {
  public:
    // Requires: stdin and stdout are a terminal.
    Terminal();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    struct Size {
        std::size_t width = 80;
        std::size_t height = 24;
    };
    [[nodiscard]] static Size size();
    void show(const std::vector<std::string>& lines);
    // The next key, or 0 after `span` without one.
    [[nodiscard]] static char key(std::chrono::milliseconds span);

  private:
    termios before_{};
};

// Whether both ends are a terminal.
[[nodiscard]] bool has_terminal();

}  // namespace cinnabar::tools::watch
