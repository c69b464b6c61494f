// SPDX-License-Identifier: BSD-3-Clause
// The time stamp counter of x86, for TickClock.
#pragma once

#include "clock_ns.hpp"

#include <cstdint>

namespace cinnabar {

struct ProcessorTicks {
    static std::uint64_t ticks() noexcept { return __builtin_ia32_rdtsc(); }
    static std::uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
    // Whether the counter can serve as a clock: the counter ticks evenly, never stops, is the same on all processors,
    // may be read by this process, and is used by Linux as its own clock.
    static bool usable() noexcept;
    static void pause() noexcept { __builtin_ia32_pause(); }
};

}  // namespace cinnabar
