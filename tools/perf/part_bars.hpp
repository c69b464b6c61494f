// SPDX-License-Identifier: BSD-3-Clause
// Draws where the time of calls went: one stacked bar for each row, all of equal length, from mean times. Pure.
#pragma once

#include "perf/results.hpp"

#include <string>

namespace cinnabar::tools::perf {

// A figure with its caption and legend, for a page with the style sheet of html_style.hpp; empty if no call was timed.
[[nodiscard]] std::string part_bars(const Results& results);

}  // namespace cinnabar::tools::perf
