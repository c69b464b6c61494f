// SPDX-License-Identifier: BSD-3-Clause
// Makes the plots of a report from results. Pure functions.
#pragma once

#include "perf/results.hpp"
#include "perf/svg_plot.hpp"

#include <vector>

namespace cinnabar::tools::perf {

// Latency by quantile, one line per row; for open loops a second, dashed line for the latency from sending.
[[nodiscard]] Plot percentile_plot(const Results& results);
// Rate by depth, of closed loops that differ only in depth; empty if there is only one depth.
[[nodiscard]] Plot depth_plot(const Results& results);
// Latency by planned rate, of open loops.
[[nodiscard]] Plot load_plot(const Results& results);
// Latency over time, one plot per row.
[[nodiscard]] std::vector<Plot> time_plots(const Results& results);
// Bandwidth by size, with the machine's memory copy rate for comparison.
[[nodiscard]] Plot bandwidth_plot(const Results& results);

}  // namespace cinnabar::tools::perf
