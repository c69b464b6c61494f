// SPDX-License-Identifier: BSD-3-Clause
// Where the time of calls went, as stacked bars of equal length: one for each row of calls, of its mean times. Pure.
#pragma once

#include "perf/results.hpp"

#include <string>

namespace cinnabar::tools::perf {

// A figure with its caption and legend, for a page with the style sheet of html_style.hpp; empty when nothing is known.
[[nodiscard]] std::string part_bars(const Results& results);

}  // namespace cinnabar::tools::perf
