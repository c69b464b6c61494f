// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/clock.hpp>

#include <ctime>

#if defined(__x86_64__)
#include "processor_ticks.hpp"
#include "tick_clock.hpp"
#endif

namespace cinnabar {
namespace {

std::uint64_t read(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

#if defined(__x86_64__)
constinit TickClock<ProcessorTicks> monotonic;
std::uint64_t monotonic_ns() noexcept { return monotonic.now_ns(); }
#else
std::uint64_t monotonic_ns() noexcept { return read(CLOCK_MONOTONIC); }
#endif

class SteadyClock final : public TimeSource {
  public:
    TimeUs now_us() noexcept override { return monotonic_ns() / 1'000u; }
    // What is counted may be behind CLOCK_MONOTONIC, but not behind this.
    TimeUs coarse_us() noexcept override { return read(CLOCK_MONOTONIC_COARSE) / 1'000u - 2; }
};

}  // namespace

std::uint64_t steady_ns() noexcept { return monotonic_ns(); }

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
