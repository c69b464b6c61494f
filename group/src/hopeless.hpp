// SPDX-License-Identifier: BSD-3-Clause
// Whether to try again to become a member.
#pragma once

#include <cinnabar/base/error.hpp>

namespace cinnabar::group {

// What no later attempt and no other seed mends.
[[nodiscard]] constexpr bool is_hopeless(Errc code) noexcept {
    return code == Errc::canceled || code == Errc::too_large || code == Errc::not_found ||
           code == Errc::invalid_argument;
}

}  // namespace cinnabar::group
