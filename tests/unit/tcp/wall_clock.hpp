// SPDX-License-Identifier: BSD-3-Clause
// What time() says in this program, also to the libraries that it uses: OpenSSL asks it for all dates.
#pragma once

#include <chrono>

namespace cinnabar::tcp {

// Sets the clock, for the life of this object. One at a time.
class WallClock {
  public:
    WallClock() = default;
    ~WallClock() { set(std::chrono::seconds(0)); }
    WallClock(const WallClock&) = delete;
    WallClock& operator=(const WallClock&) = delete;

    // So far from what it is; negative: back.
    static void set(std::chrono::seconds ahead) noexcept;
};

}  // namespace cinnabar::tcp
