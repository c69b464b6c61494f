// SPDX-License-Identifier: BSD-3-Clause
// The limits of this machine, to be plotted beside the measurements.
#pragma once

#include <cstdint>

namespace cinnabar::tools::perf {

// Measures for `seconds` how many bytes per second one thread copies in memory, in pieces of `bytes`. Uses as much
// memory as a round of transfers.
[[nodiscard]] double memory_copy_rate(std::uint64_t bytes, double seconds);

}  // namespace cinnabar::tools::perf
