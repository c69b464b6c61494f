// SPDX-License-Identifier: BSD-3-Clause
// How long to wait before the next attempt.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <cstdint>

namespace cinnabar::group {

// Pauses between attempts. Each pause is twice as long as the one before, up to `most`, and then multiplied by a random
// factor from 0.5 to 1.5, so that many members do not try at the same time. So a pause is at most one and a half times
// `most`.
class BackOff {
  public:
    BackOff(Random& random, Microseconds first, Microseconds most) noexcept
        : random_(random), next_(first), most_(most) {}

    [[nodiscard]] Microseconds next() noexcept {
        const auto span = static_cast<std::uint64_t>(next_.count());
        next_ = std::min(next_ * 2, most_);
        return Microseconds(span / 2 + random_.below(span));
    }

  private:
    Random& random_;
    Microseconds next_;
    const Microseconds most_;
};

}  // namespace cinnabar::group
