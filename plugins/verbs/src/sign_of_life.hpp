// SPDX-License-Identifier: BSD-3-Clause
// For how long the device has owed word of work that it was asked to tell of, as it does while the other side's device
// does not answer, or has no receive slot for a message. What the other side sends does not count: of one that sends
// and has no slots, no other sign would come. Pure. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <algorithm>

namespace cinnabar::verbs {

class SignOfLife {
  public:
    void open() noexcept { owed_since_ = told_at_ = 0; }
    // It is owed now, and perhaps was before.
    void owed(TimeUs now) noexcept {
        if (owed_since_ == 0) owed_since_ = now;
    }
    // The device told of something. `all`: nothing more is owed.
    void told(TimeUs now, bool all) noexcept {
        told_at_ = now;
        if (all) owed_since_ = 0;
    }
    [[nodiscard]] bool overdue(TimeUs now, TimeUs patience) const noexcept {
        return owed_since_ != 0 && now - std::max(owed_since_, told_at_) >= patience;
    }

  private:
    TimeUs owed_since_ = 0;  // 0: nothing is
    TimeUs told_at_ = 0;
};

}  // namespace cinnabar::verbs
