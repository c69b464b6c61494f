// SPDX-License-Identifier: BSD-3-Clause
// SelfDialNumbers: the random numbers that sealed dials of this process to itself carry; na::SelfDials does the same by
// the addresses of sockets, which other networks lack. With a shared key both ends prove the same identity, so an
// attacker could reflect a dial to another process back to this one. Only a dial to an address of this process may come
// back. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace cinnabar::tls {

class SelfDialNumbers {
  public:
    // Call before the dial greets; remove() when it has ended or its answer has arrived. False: out of memory.
    [[nodiscard]] bool add(std::uint64_t number) noexcept {
        const std::lock_guard lock(mutex_);
        try {
            numbers_.push_back(number);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }
    void remove(std::uint64_t number) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = std::find(numbers_.begin(), numbers_.end(), number);
        if (at != numbers_.end()) numbers_.erase(at);
    }
    [[nodiscard]] bool has(std::uint64_t number) const noexcept {
        const std::lock_guard lock(mutex_);
        return std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::uint64_t> numbers_;
};

}  // namespace cinnabar::tls
