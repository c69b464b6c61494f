// SPDX-License-Identifier: BSD-3-Clause
#include "stuck_watch.hpp"

#include "loop.hpp"

#include <chrono>
#include <system_error>

namespace cinnabar::hl {
namespace {

constexpr std::chrono::milliseconds look_interval{100};
constexpr std::chrono::milliseconds help_interval{5};  // while a loop is stuck: each answer takes several rounds

}  // namespace

Result<void> StuckWatch::start(const std::vector<Loop*>& loops) {
    try {
        thread_ = std::thread([this, &loops] { run(loops); });
    } catch (const std::system_error& refused) {
        return Error(Errc::out_of_memory, "a thread of the node could not be started", {}, refused.code().value());
    }
    return {};
}

void StuckWatch::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void StuckWatch::run(const std::vector<Loop*>& loops) noexcept {
    bool helped = false;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, helped ? help_interval : look_interval, [this] { return stopping_; })) {
        lock.unlock();
        helped = false;
        for (Loop* loop : loops) helped |= loop->help_if_stuck();
        lock.lock();
    }
}

}  // namespace cinnabar::hl
