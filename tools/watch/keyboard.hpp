// SPDX-License-Identifier: BSD-3-Clause
// The terminal while `top` runs: reads single keys, shows the alternate screen, and restores everything at the end.
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
    // Returns the next key, or 0 if none was pressed within `span`.
    [[nodiscard]] static char key(std::chrono::milliseconds span);

  private:
    termios before_{};
};

// Whether stdin and stdout are a terminal.
[[nodiscard]] bool has_terminal();

}  // namespace cinnabar::tools::watch
