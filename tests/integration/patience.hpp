// SPDX-License-Identifier: BSD-3-Clause
// Waiting for what another thread does: bounded, without sleeping for a guess.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cinnabar::test {

// Opened once; those who wait give up after a minute.
class Gate {
  public:
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }
    [[nodiscard]] bool wait() {
        std::unique_lock lock(mutex_);
        return opened_.wait_for(lock, std::chrono::minutes(1), [this] { return open_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
};

}  // namespace cinnabar::test
