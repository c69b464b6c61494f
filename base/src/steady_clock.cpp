// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/clock.hpp>

#include <ctime>

#if defined(__x86_64__)
#include "processor_ticks.hpp"
#include "tick_clock.hpp"
#endif

namespace cinnabar {
namespace {

class SteadyClock final : public TimeSource {
  public:
#if defined(__x86_64__)
    TimeUs now_us() noexcept override { return clock_.now_us(); }
    // now_us() may be a microsecond behind CLOCK_MONOTONIC, but not behind this.
    TimeUs coarse_us() noexcept override { return read(CLOCK_MONOTONIC_COARSE) - 2; }
#else
    TimeUs now_us() noexcept override { return read(CLOCK_MONOTONIC); }
    TimeUs coarse_us() noexcept override { return read(CLOCK_MONOTONIC_COARSE); }
#endif

  private:
    static TimeUs read(clockid_t clock) noexcept {
        timespec t{};
        ::clock_gettime(clock, &t);
        return static_cast<TimeUs>(t.tv_sec) * 1'000'000u + static_cast<TimeUs>(t.tv_nsec) / 1'000u;
    }

#if defined(__x86_64__)
    TickClock<ProcessorTicks> clock_;
#endif
};

}  // namespace

TimeSource& steady_clock() noexcept {
    // Never destroyed: what runs at exit reads it, such as the last lines of the log.
    union Kept {
        SteadyClock clock;
        constexpr Kept() noexcept : clock() {}
        constexpr ~Kept() {}
    };
    static constinit Kept kept;
    return kept.clock;
}

}  // namespace cinnabar
