// SPDX-License-Identifier: BSD-3-Clause
// The rows that lists of options ask for: every combination, in the order of the lists. Pure.
#pragma once

#include "perf/bulk_load.hpp"
#include "perf/call_load.hpp"
#include "perf/command.hpp"

#include <vector>

namespace cinnabar::tools::perf {

[[nodiscard]] std::vector<CallShape> shapes_of(const CallsOptions& options);
// The open loops that are to follow, made of the closed one with the best rate; none without one that went well.
[[nodiscard]] std::vector<CallShape> steps_of(const CallsOptions& options, const std::vector<CallResult>& closed);
[[nodiscard]] std::vector<BulkShape> shapes_of(const BulkOptions& options);

}  // namespace cinnabar::tools::perf
