// SPDX-License-Identifier: BSD-3-Clause
// RankConflict: for how many periods in a row another process has claimed the rank of this member. Several claims in
// one period count once, because one message may have many of them. Counting begins anew after a quiet time.
#pragma once

#include <cinnabar/base/clock.hpp>

namespace cinnabar::group {

class RankConflict {
  public:
    static constexpr unsigned periods_max = 16;

    // Counts a claim of another process. Returns whether there were such claims in more than periods_max periods; if
    // so, starts counting anew.
    [[nodiscard]] bool goes_on_too_long(TimeUs now, Microseconds period) noexcept {
        const auto period_us = static_cast<TimeUs>(period.count());
        if (periods_ != 0 && now < last_us_ + period_us) return false;
        const bool goes_on = periods_ != 0 && now <= last_us_ + 4 * period_us;
        last_us_ = now;
        periods_ = goes_on ? periods_ + 1 : 1;
        if (periods_ <= periods_max) return false;
        periods_ = 0;
        return true;
    }

  private:
    unsigned periods_ = 0;
    TimeUs last_us_ = 0;
};

}  // namespace cinnabar::group
