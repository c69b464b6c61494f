// SPDX-License-Identifier: BSD-3-Clause
// The output of `cinnabar perf mesh`. Pure functions.
#pragma once

#include "perf/mesh.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::perf {

// The lines of each output, without their newlines. Text: two matrices, of rates or bandwidths and of latencies, whose
// rows are the origins and whose columns are the targets; a pair that did not go well has the reason in place of a
// figure.
[[nodiscard]] std::vector<std::string> mesh_text(const MeshResults& results);
// An object for each pair, and one for all.
[[nodiscard]] std::vector<std::string> mesh_json(const MeshResults& results);
// A table with a line for each pair.
[[nodiscard]] std::vector<std::string> mesh_csv(const MeshResults& results);

}  // namespace cinnabar::tools::perf
