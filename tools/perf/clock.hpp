// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/clock.hpp>

namespace cinnabar::tools::perf {

// Nanoseconds on the monotonic clock.
[[nodiscard]] inline std::uint64_t now_ns() noexcept { return steady_ns(); }

}  // namespace cinnabar::tools::perf
