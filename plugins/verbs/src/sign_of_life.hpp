// SPDX-License-Identifier: BSD-3-Clause
// Measures for how long signalled work has not completed. Work does not complete while the other side's device does not
// answer, or has no receive slot for a message. Messages from the other side do not count, because a peer may send
// while it has no slots. Pure. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <algorithm>

namespace cinnabar::verbs {

class SignOfLife {
  public:
    void open() noexcept { expected_since_ = told_at_ = 0; }
    // Call when a completion is expected.
    void expect(TimeUs now) noexcept {
        if (expected_since_ == 0) expected_since_ = now;
    }
    // Call when a completion has arrived. `all`: no other one is expected.
    void told(TimeUs now, bool all) noexcept {
        told_at_ = now;
        if (all) expected_since_ = 0;
    }
    [[nodiscard]] bool overdue(TimeUs now, TimeUs patience) const noexcept {
        return expected_since_ != 0 && now - std::max(expected_since_, told_at_) >= patience;
    }

  private:
    TimeUs expected_since_ = 0;  // 0: none is expected
    TimeUs told_at_ = 0;
};

}  // namespace cinnabar::verbs
