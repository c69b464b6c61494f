// SPDX-License-Identifier: BSD-3-Clause
// Tells whether small messages were sent or received recently. A port then moves bulk data in small steps, so that
// messages do not wait for long. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <utility>

namespace cinnabar::na {

class SmallTraffic {
  public:
    // Call when a small message was sent or received. Does not read the clock.
    void note() noexcept { noted_ = true; }
    // Whether messages were noted within the last 100 us. A stream of messages has shorter gaps, and a single message
    // now and then, such as one call for each window of a file, slows bulk data down only briefly.
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
