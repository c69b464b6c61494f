// SPDX-License-Identifier: BSD-3-Clause
// Replaces time() in this program, also for libraries: OpenSSL uses it for all dates.
#pragma once

#include <chrono>

namespace cinnabar::tcp {

// Sets the clock while this object lives. Only one may exist at a time.
class WallClock {
  public:
    WallClock() = default;
    ~WallClock() { set(std::chrono::seconds(0)); }
    WallClock(const WallClock&) = delete;
    WallClock& operator=(const WallClock&) = delete;

    // Sets the clock ahead of the real time; back if `ahead` is negative.
    static void set(std::chrono::seconds ahead) noexcept;
};

}  // namespace cinnabar::tcp
