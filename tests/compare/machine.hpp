// SPDX-License-Identifier: BSD-3-Clause
// What the figures were measured on.
#pragma once

#include "outcome.hpp"

namespace cinnabar::compare {

// A report with the machine and the date in it, and nothing else.
[[nodiscard]] Report about_this_machine();

}  // namespace cinnabar::compare
