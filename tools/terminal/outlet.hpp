// SPDX-License-Identifier: BSD-3-Clause
// Lines for a reader who may be slow, or never read at all: they are queued and written by a thread of their own, so
// that whoever tells something never waits for the reader. The queue is bounded; what does not fit is dropped and
// counted, and the count is told once there is room again.
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

    // A whole line with its newline, and the descriptor that it goes to.
    struct Line {
        int fd = -1;
        std::string text;
    };
    // What tells that so many lines were dropped. Called with a lock held: it must be short.
    using Dropped = std::function<Line(std::uint64_t count)>;

    explicit Outlet(Dropped dropped);
    // Leaves the reader a moment for what is queued, and never waits longer: the rest is lost.
    ~Outlet();
    Outlet(const Outlet&) = delete;
    Outlet& operator=(const Outlet&) = delete;

    // Never blocks on the reader. Any thread.
    void tell(Line line);

  private:
    struct State;
    std::shared_ptr<State> state_;  // also the thread's, which may be stuck in a write when this goes
};

}  // namespace cinnabar::tools
