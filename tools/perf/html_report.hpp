// SPDX-License-Identifier: BSD-3-Clause
// The report: one HTML page with everything inside, plots as SVG, for light, dark and narrow screens. No script,
// nothing from a network. Pure.
#pragma once

#include "perf/results.hpp"

#include <string>

namespace cinnabar::tools::perf {

[[nodiscard]] std::string html_report(const Results& results);

}  // namespace cinnabar::tools::perf
