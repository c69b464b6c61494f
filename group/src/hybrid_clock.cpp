// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/group/hybrid_clock.hpp>

#include <algorithm>
#include <chrono>

namespace cinnabar::group {

HybridClock::HybridClock(ClockOptions options) : options_(std::move(options)) {}

std::uint64_t HybridClock::wall() const {
    if (options_.wall_us) return options_.wall_us();
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<Microseconds>(since).count());
}

HybridTime HybridClock::now() noexcept {
    const std::uint64_t present = HybridTime::at(wall()).bits();
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    for (;;) {
        const std::uint64_t next = std::max(last + 1, present);
        if (last_.compare_exchange_weak(last, next, std::memory_order_relaxed)) return HybridTime(next);
    }
}

bool HybridClock::hear(HybridTime time) noexcept {
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    if (time.bits() <= last) return true;
    if (ahead(time) > options_.drift_max) return false;
    while (last < time.bits() && !last_.compare_exchange_weak(last, time.bits(), std::memory_order_relaxed)) {
    }
    return true;
}

Microseconds HybridClock::ahead(HybridTime time) const {
    const std::uint64_t present = wall();
    const std::uint64_t theirs = time.wall_us();
    return Microseconds(theirs > present ? theirs - present : 0);
}

}  // namespace cinnabar::group
