// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/outlet.hpp"

#include "terminal/write_all.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace cinnabar::tools {
namespace {

// How long the destructor waits for the reader.
constexpr std::chrono::seconds end_limit{2};

}  // namespace

struct Outlet::State {
    explicit State(Dropped how) : dropped_line(std::move(how)) {}

    [[nodiscard]] bool fits(const Line& line) const {
        return lines.size() < lines_max && bytes + line.text.size() <= bytes_max;
    }
    void add(Line line) {
        bytes += line.text.size();
        lines.push_back(std::move(line));
    }
    void add_dropped() {
        if (dropped > 0) add(dropped_line(std::exchange(dropped, 0)));
    }
    void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            if (lines.empty()) add_dropped();
            if (lines.empty()) {
                if (ending) break;
                changed.wait(lock);
                continue;
            }
            const Line line = std::move(lines.front());
            lines.pop_front();
            bytes -= line.text.size();
            lock.unlock();
            write_all(line.fd, line.text);
            lock.lock();
            if (abandoned) break;
        }
        ended = true;
        changed.notify_all();
    }

    const Dropped dropped_line;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Line> lines;
    std::size_t bytes = 0;
    std::uint64_t dropped = 0;
    bool ending = false;
    bool ended = false;
    bool abandoned = false;  // the Outlet was destroyed, and perhaps what dropped_line refers to
};

Outlet::Outlet(Dropped dropped) : state_(std::make_shared<State>(std::move(dropped))) {
    // Detached, because a thread that is blocked in a write to a reader that does not read cannot be interrupted.
    std::thread([state = state_] { state->run(); }).detach();
}

Outlet::~Outlet() {
    std::unique_lock lock(state_->mutex);
    state_->ending = true;
    state_->changed.notify_all();
    (void)state_->changed.wait_for(lock, end_limit, [&] { return state_->ended; });
    state_->abandoned = true;
}

void Outlet::tell(Line line) {
    const std::lock_guard lock(state_->mutex);
    // First queues the line with the count, in the place of the dropped lines.
    if (state_->dropped > 0 && state_->lines.size() + 1 < lines_max && state_->fits(line)) state_->add_dropped();
    if (state_->dropped == 0 && state_->fits(line)) {
        state_->add(std::move(line));
        state_->changed.notify_all();
    } else {
        ++state_->dropped;
    }
}

}  // namespace cinnabar::tools
