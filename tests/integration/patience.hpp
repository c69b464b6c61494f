// SPDX-License-Identifier: BSD-3-Clause
// Bounded waiting for another thread, without sleeping for a guessed time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cinnabar::test {

// Opened once. Waiting threads give up after a minute, or after the given limit.
class Gate {
  public:
    explicit Gate(std::chrono::seconds limit = std::chrono::minutes(1)) : limit_(limit) {}
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }
    [[nodiscard]] bool wait() {
        std::unique_lock lock(mutex_);
        return opened_.wait_for(lock, limit_, [this] { return open_; });
    }
    [[nodiscard]] bool is_open() {
        const std::lock_guard lock(mutex_);
        return open_;
    }

  private:
    const std::chrono::seconds limit_;
    std::mutex mutex_;
    std::condition_variable opened_;
    bool open_ = false;
};

}  // namespace cinnabar::test
