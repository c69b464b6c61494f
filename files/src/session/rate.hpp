// SPDX-License-Identifier: BSD-3-Clause
// Limits the average data rate: each transfer delays the next one by the time that its bytes take at that rate. Unused
// time does not accumulate. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace cinnabar::files {

class Rate {
  public:
    using Clock = std::chrono::steady_clock;
    using Span = std::chrono::microseconds;

    // 0: no limit.
    explicit Rate(std::uint64_t bytes_per_second = 0) noexcept : bytes_per_second_(bytes_per_second) {}

    [[nodiscard]] bool limits() const noexcept { return bytes_per_second_ != 0; }
    // How long a transfer that starts at `now` would have to wait.
    [[nodiscard]] Span wait(Clock::time_point now) const noexcept {
        return std::chrono::ceil<Span>(std::max(next_ - now, Clock::duration(0)));
    }
    // As wait(), and records the transfer, so that later ones wait for it.
    [[nodiscard]] Span reserve(std::uint64_t bytes, Clock::time_point now) noexcept {
        if (!limits() || bytes == 0) return Span(0);
        const Span waits = wait(now);
        const std::chrono::duration<double> takes(static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
        next_ = std::max(next_, now) + std::chrono::duration_cast<Clock::duration>(std::min(takes, longest));
        return waits;
    }

  private:
    static constexpr std::chrono::duration<double> longest = std::chrono::hours(24 * 365);
    std::uint64_t bytes_per_second_;
    Clock::time_point next_;
};

}  // namespace cinnabar::files
