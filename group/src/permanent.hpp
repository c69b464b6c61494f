// SPDX-License-Identifier: BSD-3-Clause
// Errors that another attempt to join does not change.
#pragma once

#include <cinnabar/base/error.hpp>

namespace cinnabar::group {

// Errors after which joining or following a group is not retried, neither later nor with another seed.
[[nodiscard]] constexpr bool is_permanent(Errc code) noexcept {
    return code == Errc::canceled || code == Errc::too_large || code == Errc::not_found ||
           code == Errc::invalid_argument;
}

}  // namespace cinnabar::group
