// SPDX-License-Identifier: BSD-3-Clause
// The machine on which the figures were measured.
#pragma once

#include "outcome.hpp"

namespace cinnabar::compare {

// A report that contains only the machine and the date.
[[nodiscard]] Report about_this_machine();

}  // namespace cinnabar::compare
