// SPDX-License-Identifier: BSD-3-Clause
// Which plots a report has, made of what was measured. Pure.
#pragma once

#include "perf/results.hpp"
#include "perf/svg_plot.hpp"

#include <vector>

namespace cinnabar::tools::perf {

// Latency by quantile, a line for each row; of an open loop one more, dashed, from sending.
[[nodiscard]] Plot percentile_plot(const Results& results);
// Rate by depth, of closed loops that differ in nothing else; empty when there is one depth only.
[[nodiscard]] Plot depth_plot(const Results& results);
// Latency by planned rate, of open loops.
[[nodiscard]] Plot load_plot(const Results& results);
// Latency over time, a plot for each row.
[[nodiscard]] std::vector<Plot> time_plots(const Results& results);
// Bandwidth by size, with what the machine copies from memory to memory.
[[nodiscard]] Plot bandwidth_plot(const Results& results);

}  // namespace cinnabar::tools::perf
