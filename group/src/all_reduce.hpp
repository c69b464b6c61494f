// SPDX-License-Identifier: BSD-3-Clause
// Implements barriers and all-reduces, the calls that every member makes for itself.
#pragma once

#include "core.hpp"

namespace cinnabar::group {

// Serves the RPCs that barriers and all-reduces use.
[[nodiscard]] Result<void> serve_arrivals(const std::shared_ptr<Core>& core);

}  // namespace cinnabar::group
