// SPDX-License-Identifier: BSD-3-Clause
// Whether small messages came or went recently. A port then moves bulk data in small steps, so that messages do not
// wait for long. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <utility>

namespace cinnabar::na {

class SmallTraffic {
  public:
    // A small message came or went. Costs no look at the clock.
    void note() noexcept { noted_ = true; }
    // Messages that follow each other come closer than 100 us. One now and then, such as a call for each window of a
    // file, does not slow bulk data down for long.
    [[nodiscard]] bool recent(TimeUs now) noexcept {
        if (std::exchange(noted_, false)) last_ = now;
        return now - last_ < recent_us;
    }

  private:
    static constexpr TimeUs recent_us = 100;
    bool noted_ = false;
    TimeUs last_ = 0;
};

}  // namespace cinnabar::na
