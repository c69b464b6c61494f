// SPDX-License-Identifier: BSD-3-Clause
#include "clock_ns.hpp"

#include <cinnabar/base/clock.hpp>

#if defined(__x86_64__)
#include "processor_ticks.hpp"
#include "tick_clock.hpp"
#endif

namespace cinnabar {
namespace {

#if defined(__x86_64__)
using ProcessorClock = TickClock<ProcessorTicks>;
constinit ProcessorClock monotonic;
// initial-exec: reached without a function call, also in a shared library.
[[gnu::tls_model("initial-exec")]] constinit thread_local ProcessorClock::Kept kept_line;
std::uint64_t monotonic_ns() noexcept { return monotonic.now_ns(kept_line); }
#else
std::uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
#endif

class SteadyClock final : public TimeSource {
  public:
    TimeUs now_us() noexcept override { return monotonic_ns() / 1'000u; }
    // Subtracts 2 us, because the result must never be later than now_us(), which may be up to 2 us behind
    // CLOCK_MONOTONIC.
    TimeUs coarse_us() noexcept override { return clock_ns(CLOCK_MONOTONIC_COARSE) / 1'000u - 2; }
};

}  // namespace

std::uint64_t steady_ns() noexcept { return monotonic_ns(); }

TimeSource& steady_clock() noexcept {
    // Never destroyed, because code that runs at exit uses it, for example for the last lines of the log.
    union Kept {
        SteadyClock clock;
        constexpr Kept() noexcept : clock() {}
        constexpr ~Kept() {}
    };
    static constinit Kept kept;
    return kept.clock;
}

}  // namespace cinnabar
