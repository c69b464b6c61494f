// SPDX-License-Identifier: BSD-3-Clause
// The tabs of `cinnabar top` that show where time goes, the pools, and the memory. Pure functions. `width`: the maximum
// number of columns; 0: as many as the rows need.
#pragma once

#include "watch/resources.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace cinnabar::tools::watch {

// What the calls in progress wait for, in at most `rows_max` rows (0: all), then the mean times of those that ended.
[[nodiscard]] std::vector<std::string> time_lines(const State& state, const std::vector<RpcRow>& rows,
                                                  std::size_t width, std::size_t rows_max);
// The pools, then the contexts, on whose threads all other handlers run.
[[nodiscard]] std::vector<std::string> pool_lines(const State& state, std::size_t width);
// The memory of the node, then that of each context and its leases, then what the transports have found.
[[nodiscard]] std::vector<std::string> memory_lines(const State& state, std::size_t width);

// Which calls of the node failed where, in at most `rows_max` rows (0: all); nothing if none did.
[[nodiscard]] std::vector<std::string> failure_lines(const State& state, std::size_t width, std::size_t rows_max);

}  // namespace cinnabar::tools::watch
