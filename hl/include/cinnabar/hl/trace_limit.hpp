// SPDX-License-Identifier: BSD-3-Clause
// How many traces a Tracer records a second: a token bucket that holds those of one second. Thread-safe.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace cinnabar::hl {

class TraceLimit {
  public:
    // 0: no limit.
    explicit TraceLimit(std::uint32_t per_second) noexcept
        : each_ns_(per_second == 0 ? 0 : std::max(second_ns / per_second, std::uint64_t{1})) {}

    // Whether one more may be recorded at `now`; otherwise counts it. The clocks of threads may differ a little.
    [[nodiscard]] bool admits(TimeUs now) noexcept {
        if (each_ns_ == 0) return true;
        const std::uint64_t now_ns = now * 1'000;
        std::uint64_t full = full_ns_.load(std::memory_order_relaxed);
        std::uint64_t then = 0;
        do {
            then = std::max(full, now_ns) + each_ns_;
            if (then > now_ns + second_ns) {
                left_out_.fetch_add(1, std::memory_order_relaxed);
                return false;
            }
        } while (!full_ns_.compare_exchange_weak(full, then, std::memory_order_relaxed));
        return true;
    }
    [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::uint64_t second_ns = 1'000'000'000;

    const std::uint64_t each_ns_;            // 0: no limit
    std::atomic<std::uint64_t> full_ns_{0};  // when the bucket is full again
    std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace cinnabar::hl
