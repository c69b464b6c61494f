// SPDX-License-Identifier: BSD-3-Clause
// Renders the report as one self-contained HTML page with SVG plots, for light, dark and narrow screens. No scripts, no
// network access. A pure function.
#pragma once

#include "perf/results.hpp"

#include <string>

namespace cinnabar::tools::perf {

[[nodiscard]] std::string html_report(const Results& results);

}  // namespace cinnabar::tools::perf
