// SPDX-License-Identifier: BSD-3-Clause
// Draws the phases of calls: one stacked bar per row, all of equal length, from mean times. Pure functions.
#pragma once

#include "perf/results.hpp"

#include <string>

namespace cinnabar::tools::perf {

// A figure with caption and legend, for a page with the style sheet of html_style.hpp; empty if no call was timed.
[[nodiscard]] std::string part_bars(const Results& results);

}  // namespace cinnabar::tools::perf
