// SPDX-License-Identifier: BSD-3-Clause
// Moves the credits of one peer between the three states that the header names, and recalls those that are not used.
#include "credit_account.hpp"

#include <algorithm>

namespace cinnabar::rpc {

void CreditAccount::open(std::uint32_t first, std::uint32_t unsent_max) noexcept {
    budget_ = granted_ = std::min(first, budget_max);
    returnable_ = 0;
    unsent_share_ = unsent_max;
    withhold(withheld_);
    came_at_look_ = came_;
    asked_ = 0;
    wants_credits_ = recalled_ = false;
}

void CreditAccount::withhold(bool withheld) noexcept {
    withheld_ = withheld;
    unsent_max_ = withheld ? 0 : unsent_share_;
}

std::uint32_t CreditAccount::close() noexcept {
    granted_ = returnable_ = 0;
    wants_credits_ = recalled_ = false;
    return std::exchange(budget_, 0);
}

bool CreditAccount::retire() noexcept {
    CINNABAR_DEBUG_ASSERT(held() != 0);
    if (budget_ <= 1) return false;
    --budget_;
    CINNABAR_DEBUG_ASSERT(adds_up());
    return true;
}

void CreditAccount::grow(std::uint32_t more) noexcept {
    budget_ += more;
    returnable_ += more;
    CINNABAR_DEBUG_ASSERT(budget_ <= budget_max && adds_up());
}

void CreditAccount::take_back(std::uint32_t count) noexcept {
    const std::uint32_t back = std::min(count, granted_);
    granted_ -= back;
    returnable_ += back;
    CINNABAR_DEBUG_ASSERT(adds_up());
}

CreditAccount::Recall CreditAccount::look(std::uint32_t keep, TimeUs now, Microseconds answer_max) noexcept {
    const bool sent = std::exchange(came_at_look_, came_) != came_;
    const std::uint32_t all = granted_ + returnable_;
    // Destroys no credits while a recall is unanswered, because the peer may return any number of credits, or while
    // requests of the peer are here, because the replies to these requests carry credits.
    if (!sent && !recalled_ && requests() == 0 && all > keep) {
        const std::uint32_t spare = std::min(returnable_, all - keep);
        returnable_ -= spare;
        budget_ -= spare;
        CINNABAR_DEBUG_ASSERT(adds_up());
    }
    if (recalled_ || (!sent && granted_ > keep)) {
        if (asked_ != 0 && after(asked_, answer_max) <= now) {
            asked_ = now;  // so that it is reported only once
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

std::uint32_t CreditAccount::returned(std::uint32_t count) noexcept {
    if (!std::exchange(recalled_, false)) return 0;
    const std::uint32_t back = std::min(count, granted_);
    granted_ -= back;
    budget_ -= back;
    CINNABAR_DEBUG_ASSERT(adds_up());
    return back;
}

}  // namespace cinnabar::rpc
