// SPDX-License-Identifier: BSD-3-Clause
// A thread that watches the loops and makes progress in place of those that are stuck, so that introspection is
// answered while a handler holds the thread of a loop. The watching thread runs no other handlers, and no callbacks
// except those that report the progress of transfers.
#pragma once

#include <cinnabar/base/result.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar::hl {

class Loop;

class StuckWatch {
  public:
    StuckWatch() = default;
    ~StuckWatch() { stop(); }
    StuckWatch(const StuckWatch&) = delete;
    StuckWatch& operator=(const StuckWatch&) = delete;

    // The loops must be open until stop(). out_of_memory: the system gives no thread.
    [[nodiscard]] Result<void> start(const std::vector<Loop*>& loops);
    // Waits for the thread. Idempotent.
    void stop() noexcept;

  private:
    void run(const std::vector<Loop*>& loops) noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace cinnabar::hl
