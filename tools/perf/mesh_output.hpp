// SPDX-License-Identifier: BSD-3-Clause
// The output of `cinnabar perf mesh`. Pure functions.
#pragma once

#include "perf/mesh.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::perf {

// The functions below return the lines of an output, without newlines. Text: two matrices, one of rates or bandwidths
// and one of latencies. The rows are the origins, the columns the targets. For a pair that failed, the reason takes the
// place of the figure.
[[nodiscard]] std::vector<std::string> mesh_text(const MeshResults& results);
// An object for each pair, and one for all.
[[nodiscard]] std::vector<std::string> mesh_json(const MeshResults& results);
// A table with a line for each pair.
[[nodiscard]] std::vector<std::string> mesh_csv(const MeshResults& results);

}  // namespace cinnabar::tools::perf
