// SPDX-License-Identifier: BSD-3-Clause
// A byte budget that all peers of a context share. One peer must leave at least as much free as it uses, so it uses at
// most half, and there is always room for the next peer. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace cinnabar::rpc {

class SharedBudget {
  public:
    using Part = std::atomic<std::uint64_t>;  // the bytes of one peer

    explicit SharedBudget(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

    // `part`: counts the bytes of the peer that takes them; null: this side itself takes them, and may take all. False:
    // nothing was taken.
    [[nodiscard]] bool take(std::uint64_t bytes, Part* part) noexcept {
        // Checks before it adds: bytes added for a request that is refused would cause the refusal of others.
        std::uint64_t all = all_.load(std::memory_order_relaxed);
        do {
            if (bytes > bytes_max_ - all) return false;
            const std::uint64_t free = bytes_max_ - all - bytes;
            if (part && (bytes > free || part->load(std::memory_order_relaxed) > free - bytes)) return false;
        } while (!all_.compare_exchange_weak(all, all + bytes, std::memory_order_relaxed));
        if (!part || part->fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_ - all - bytes) return true;
        give_back(bytes, part);  // another thread has taken for the same peer meanwhile
        return false;
    }
    void give_back(std::uint64_t bytes, Part* part) noexcept {
        all_.fetch_sub(bytes, std::memory_order_relaxed);
        if (part) part->fetch_sub(bytes, std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t taken() const noexcept { return all_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
    // The maximum for one peer.
    [[nodiscard]] std::uint64_t part_max() const noexcept { return bytes_max_ / 2; }

  private:
    const std::uint64_t bytes_max_;
    Part all_{0};
};

}  // namespace cinnabar::rpc
