// SPDX-License-Identifier: BSD-3-Clause
// The limits of this machine, to be plotted beside the measurements.
#pragma once

#include <cstdint>

namespace cinnabar::tools::perf {

// Bytes per second that one thread copies in memory, in pieces of `bytes`. Uses as much memory as a round of transfers.
// Measures for `seconds`.
[[nodiscard]] double memory_copy_rate(std::uint64_t bytes, double seconds);

}  // namespace cinnabar::tools::perf
