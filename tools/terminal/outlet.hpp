// SPDX-License-Identifier: BSD-3-Clause
// Outlet: writes lines for a reader that may be slow or not read at all. A separate thread writes the lines from a
// bounded queue, so that no other thread waits for the reader. Lines that do not fit into the queue are dropped and
// counted; the count is written when there is room again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cinnabar::tools {

class Outlet {
  public:
    static constexpr std::size_t lines_max = 4096;
    static constexpr std::size_t bytes_max = 4u << 20;

    // A complete line with its newline, and the descriptor to write it to.
    struct Line {
        int fd = -1;
        std::string text;
    };
    // Makes the line that reports the number of dropped lines. Called with a lock held, so it must be short.
    using Dropped = std::function<Line(std::uint64_t count)>;

    explicit Outlet(Dropped dropped);
    // Waits up to two seconds for the reader to take the queued lines; the rest is lost.
    ~Outlet();
    Outlet(const Outlet&) = delete;
    Outlet& operator=(const Outlet&) = delete;

    // Never blocks on the reader. Any thread.
    void tell(Line line);

  private:
    struct State;
    std::shared_ptr<State> state_;  // shared with the thread, which may be stuck in a write when this ends
};

}  // namespace cinnabar::tools
