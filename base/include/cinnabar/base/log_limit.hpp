// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <atomic>
#include <cstdint>

namespace cinnabar {

// A rate limit for one place in the code that logs with log_limited() (log.hpp). A LogLimit admits a burst of lines,
// then one line per period. Make it static, one for each place, so that memory does not grow with the number of peers.
// Thread-safe.
class CINNABAR_API LogLimit {
  public:
    static constexpr std::uint32_t burst_default = 10;
    static constexpr Microseconds period_default{10'000'000};

    constexpr explicit LogLimit(std::uint32_t burst = burst_default, Microseconds period = period_default) noexcept
        : burst_us_(static_cast<TimeUs>(period.count()) * (burst == 0 ? 0 : burst - 1)),  // 0 counts as 1
          period_us_(static_cast<TimeUs>(period.count())) {}
    LogLimit(const LogLimit&) = delete;
    LogLimit& operator=(const LogLimit&) = delete;

    // Returns whether a line may be logged at `now`. If so, sets `left_out` to the number of lines that were dropped
    // since the last line that was logged.
    [[nodiscard]] bool admits(TimeUs now, std::uint64_t& left_out) noexcept;

  private:
    const TimeUs burst_us_;
    const TimeUs period_us_;
    std::atomic<TimeUs> paid_until_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint32_t> sink_{0};  // the sink that the members above refer to
};

}  // namespace cinnabar
