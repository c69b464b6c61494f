// SPDX-License-Identifier: BSD-3-Clause
#include "credits.hpp"

#include <utility>

namespace cinnabar::verbs {

bool SendCredits::give_back(std::uint32_t count) noexcept {
    if (count > window_ - left_) return false;
    left_ += count;
    return true;
}

bool ReceiveCredits::came() noexcept {
    if (used_ == window_) return false;
    ++used_;
    return true;
}

std::uint16_t ReceiveCredits::give_back() noexcept {
    used_ -= returnable_;
    return static_cast<std::uint16_t>(std::exchange(returnable_, 0));
}

}  // namespace cinnabar::verbs
