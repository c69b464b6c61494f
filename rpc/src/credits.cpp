// SPDX-License-Identifier: BSD-3-Clause
#include "credits.hpp"

#include <algorithm>

namespace cinnabar::rpc {

void Credits::open(std::uint32_t first, std::uint32_t unsent_max) noexcept {
    budget_ = granted_ = std::min(first, budget_max);
    returnable_ = 0;
    unsent_share_ = unsent_max;
    withhold(withheld_);
    came_at_look_ = came_;
    asked_ = 0;
    wants_credits_ = recalled_ = false;
}

void Credits::withhold(bool withheld) noexcept {
    withheld_ = withheld;
    unsent_max_ = withheld ? 0 : unsent_share_;
}

std::uint32_t Credits::close() noexcept {
    granted_ = returnable_ = 0;
    wants_credits_ = recalled_ = false;
    return std::exchange(budget_, 0);
}

bool Credits::retire() noexcept {
    CINNABAR_DEBUG_ASSERT(held() != 0);
    if (budget_ <= 1) return false;
    --budget_;
    CINNABAR_DEBUG_ASSERT(adds_up());
    return true;
}

void Credits::grow(std::uint32_t more) noexcept {
    budget_ += more;
    returnable_ += more;
    CINNABAR_DEBUG_ASSERT(budget_ <= budget_max && adds_up());
}

void Credits::take_back(std::uint32_t count) noexcept {
    const std::uint32_t back = std::min(count, granted_);
    granted_ -= back;
    returnable_ += back;
    CINNABAR_DEBUG_ASSERT(adds_up());
}

Credits::Recall Credits::look(std::uint32_t keep, TimeUs now, Microseconds answer_max) noexcept {
    const bool sent = std::exchange(came_at_look_, came_) != came_;
    const std::uint32_t all = granted_ + returnable_;
    // Not while a recall is unanswered, because the peer may return any number of credits; and not while requests of it
    // are here, because their replies carry its credits.
    if (!sent && !recalled_ && requests() == 0 && all > keep) {
        const std::uint32_t spare = std::min(returnable_, all - keep);
        returnable_ -= spare;
        budget_ -= spare;
        CINNABAR_DEBUG_ASSERT(adds_up());
    }
    if (recalled_ || (!sent && granted_ > keep)) {
        if (asked_ != 0 && after(asked_, answer_max) <= now) {
            asked_ = now;  // reports it once
            return Recall::overdue;
        }
    }
    if (recalled_) return Recall::no;
    if (sent || granted_ <= keep) {
        asked_ = 0;
        return Recall::no;
    }
    if (asked_ == 0) asked_ = now;
    recalled_ = true;
    return Recall::ask;
}

std::uint32_t Credits::returned(std::uint32_t count) noexcept {
    if (!std::exchange(recalled_, false)) return 0;
    const std::uint32_t back = std::min(count, granted_);
    granted_ -= back;
    budget_ -= back;
    CINNABAR_DEBUG_ASSERT(adds_up());
    return back;
}

}  // namespace cinnabar::rpc
