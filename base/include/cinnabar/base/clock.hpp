// SPDX-License-Identifier: BSD-3-Clause
// All waiting code takes its time from a `TimeSource`, so that the simulator and tests can control time.
#pragma once

#include <cinnabar/base/durations.hpp>
#include <cinnabar/base/export.hpp>

#include <cstdint>

namespace cinnabar {

using Microseconds = std::chrono::microseconds;

// Microseconds on a monotonic clock of unspecified origin.
using TimeUs = std::uint64_t;
inline constexpr TimeUs time_never = ~TimeUs{0};

class TimeSource {
  public:
    virtual ~TimeSource() = default;
    [[nodiscard]] virtual TimeUs now_us() noexcept = 0;
    // The same clock at a third of the cost: may be some milliseconds behind, but never ahead.
    [[nodiscard]] virtual TimeUs coarse_us() noexcept { return now_us(); }
};

// Returns a clock that follows CLOCK_MONOTONIC to within a microsecond, read from the processor's counter if possible
// (decision 0095). The clock never goes back on a thread, but a later reading on another thread may be smaller: clamp
// differences between readings of two threads. Any thread.
[[nodiscard]] CINNABAR_API TimeSource& steady_clock() noexcept;
// The same clock in nanoseconds, for measurements.
[[nodiscard]] CINNABAR_API std::uint64_t steady_ns() noexcept;

// `now` plus `span`, saturating at time_never; a negative span gives `now`.
[[nodiscard]] constexpr TimeUs after(TimeUs now, Microseconds span) noexcept {
    const auto count = span.count() < 0 ? 0u : static_cast<TimeUs>(span.count());
    return count > time_never - now ? time_never : now + count;
}

}  // namespace cinnabar
