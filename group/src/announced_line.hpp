// SPDX-License-Identifier: BSD-3-Clause
// The line by which a process announces itself to the processes that start together with it (announcement.hpp): its
// address, a space, and the claim about it, encoded as in messages, in hexadecimal digits.
#pragma once

#include "swim/claim.hpp"

#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::group {

// Requires: claim.profile is set, and can be encoded.
[[nodiscard]] std::string announced_line(std::string_view address, const Claim& claim);
// protocol: it is not the line of a process that begins its first life.
[[nodiscard]] Result<Claim> claim_of_line(std::string_view line);
// The part before the claim.
[[nodiscard]] std::string_view address_of_line(std::string_view line) noexcept;

}  // namespace cinnabar::group
