// SPDX-License-Identifier: BSD-3-Clause
// Barriers and all-reduces: calls that all members make, each for itself.
#pragma once

#include "core.hpp"

namespace cinnabar::group {

// Serves the two calls of which they consist.
[[nodiscard]] Result<void> serve_arrivals(const std::shared_ptr<Core>& core);

}  // namespace cinnabar::group
