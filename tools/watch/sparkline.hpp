// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cinnabar::tools::watch {

// Draws the last values, at most `width` of them, as blocks of eight heights; the highest value is a full block.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace cinnabar::tools::watch
