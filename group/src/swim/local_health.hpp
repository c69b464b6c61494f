// SPDX-License-Identifier: BSD-3-Clause
// LocalHealth: an estimate of how slow this member is, from answers that it misses (Lifeguard). A slow member waits
// longer for others, so that it does not blame them for its own slowness.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <algorithm>

namespace cinnabar::group {

class LocalHealth {
  public:
    explicit LocalHealth(unsigned score_max) noexcept : score_max_(score_max) {}

    [[nodiscard]] unsigned score() const noexcept { return score_; }  // 0 is healthy
    void worsen(unsigned by) noexcept { score_ += std::min(by, score_max_ - score_); }
    void improve() noexcept { score_ -= std::min(score_, 1u); }
    // The time that this member waits where a healthy one waits for `span`.
    [[nodiscard]] TimeUs stretched(Microseconds span) const noexcept {
        return static_cast<TimeUs>(span.count()) * (score_ + 1);
    }

  private:
    unsigned score_max_;
    unsigned score_ = 0;
};

}  // namespace cinnabar::group
