// SPDX-License-Identifier: BSD-3-Clause
// Duration and number of measurements.
#pragma once

#include <cinnabar/base/clock.hpp>

#include <cstdint>

namespace cinnabar::tools::perf {

struct Plan {
    double warm_up_seconds = 0.2;
    double seconds = 1;  // of each repeat
    std::uint32_t repeats = 5;
    Microseconds deadline{5'000'000};  // of each call
};

}  // namespace cinnabar::tools::perf
