// SPDX-License-Identifier: BSD-3-Clause
// The output of `cinnabar perf mesh`. Pure functions.
#pragma once

#include "perf/mesh.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::perf {

// The lines of each output, without their newlines. Text: two matrices, one of rates or bandwidths and one of
// latencies. Their rows are the origins, their columns the targets; if a pair did not go well, the reason takes the
// place of its figure.
[[nodiscard]] std::vector<std::string> mesh_text(const MeshResults& results);
// An object for each pair, and one for all.
[[nodiscard]] std::vector<std::string> mesh_json(const MeshResults& results);
// A table with a line for each pair.
[[nodiscard]] std::vector<std::string> mesh_csv(const MeshResults& results);

}  // namespace cinnabar::tools::perf
