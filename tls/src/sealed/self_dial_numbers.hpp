// SPDX-License-Identifier: BSD-3-Clause
// SelfDialNumbers: the random numbers in sealed dials of this process to itself. With a shared key both ends prove the
// same identity, so an attacker could send a dial that is meant for another process back to this one. Therefore this
// process accepts its own dial only if the number shows that it dialled an address of its own. na::SelfDials does the
// same for sockets, by their addresses, which other networks do not have. Any thread.
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
