// SPDX-License-Identifier: BSD-3-Clause
// Whether another attempt to join makes sense.
#pragma once

#include <cinnabar/base/error.hpp>

namespace cinnabar::group {

// Errors that neither a later attempt nor another seed can change.
[[nodiscard]] constexpr bool is_hopeless(Errc code) noexcept {
    return code == Errc::canceled || code == Errc::too_large || code == Errc::not_found ||
           code == Errc::invalid_argument;
}

}  // namespace cinnabar::group
