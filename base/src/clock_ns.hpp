// SPDX-License-Identifier: BSD-3-Clause
// The clocks of Linux in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace cinnabar {

[[nodiscard]] inline std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace cinnabar
