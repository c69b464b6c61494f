// SPDX-License-Identifier: BSD-3-Clause
// A gate at which handlers on a pool block until it is opened.
#pragma once

#include <condition_variable>
#include <mutex>

namespace cinnabar::test {

class Gate {
  public:
    ~Gate() { open(); }
    // Called by a handler.
    void pass() {
        std::unique_lock lock(mutex_);
        ++inside_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    // Blocks until that many handlers wait at the gate.
    void await(int count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return inside_ >= count; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int inside_ = 0;
    bool open_ = false;
};

}  // namespace cinnabar::test
