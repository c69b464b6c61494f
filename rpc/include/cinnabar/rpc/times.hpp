// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace cinnabar::rpc {

// How long a target had a request, as the target itself reports; about 71 minutes at most.
struct TargetTimes {
    std::uint32_t waited_us = 0;   // until its handler began, or it was answered without one
    std::uint32_t handled_us = 0;  // from then until the answer was written
};

}  // namespace cinnabar::rpc
