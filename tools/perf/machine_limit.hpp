// SPDX-License-Identifier: BSD-3-Clause
// What this machine itself can do at most, to be drawn beside what was measured.
#pragma once

#include <cstdint>

namespace cinnabar::tools::perf {

// Bytes a second that one thread copies from memory to memory, in pieces of `bytes`, through as much memory as a round
// of transfers moves. Takes `seconds`.
[[nodiscard]] double memory_copy_rate(std::uint64_t bytes, double seconds);

}  // namespace cinnabar::tools::perf
