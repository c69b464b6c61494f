// SPDX-License-Identifier: BSD-3-Clause
#include "wall_clock.hpp"

#include <atomic>
#include <ctime>

namespace cinnabar::tcp {
namespace {

constinit std::atomic<long> seconds_ahead{0};

}  // namespace

void WallClock::set(std::chrono::seconds ahead) noexcept { seconds_ahead.store(ahead.count()); }

}  // namespace cinnabar::tcp

extern "C" std::time_t time(std::time_t* out) noexcept {
    std::timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    const std::time_t said = now.tv_sec + cinnabar::tcp::seconds_ahead.load();
    if (out) *out = said;
    return said;
}
