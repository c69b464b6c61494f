// SPDX-License-Identifier: BSD-3-Clause
// Expands lists of options into rows: every combination, in the order of the lists. Pure functions.
#pragma once

#include "perf/bulk_load.hpp"
#include "perf/call_load.hpp"
#include "perf/command.hpp"

#include <vector>

namespace cinnabar::tools::perf {

[[nodiscard]] std::vector<CallShape> shapes_of(const CallsOptions& options);
// The open loops that follow the closed ones, derived from the closed loop with the best rate; empty if none succeeded.
[[nodiscard]] std::vector<CallShape> steps_of(const CallsOptions& options, const std::vector<CallResult>& closed);
[[nodiscard]] std::vector<BulkShape> shapes_of(const BulkOptions& options);

}  // namespace cinnabar::tools::perf
