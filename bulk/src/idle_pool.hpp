// SPDX-License-Identifier: BSD-3-Clause
// Idle objects that copies take in turn, such as streams. Thread-safe.
#pragma once

#include <mutex>
#include <new>
#include <vector>

namespace cinnabar::bulk {

template <typename T>
class IdlePool {
  public:
    // False: there is none.
    [[nodiscard]] bool take(T& out) noexcept {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return false;
        out = idle_.back();
        idle_.pop_back();
        return true;
    }
    // False: out of memory.
    [[nodiscard]] bool keep(T one) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            idle_.push_back(one);
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

  private:
    std::mutex mutex_;
    std::vector<T> idle_;
};

}  // namespace cinnabar::bulk
