// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace cinnabar::tools::perf {

// Nanoseconds on the monotonic clock.
[[nodiscard]] inline std::uint64_t now_ns() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace cinnabar::tools::perf
