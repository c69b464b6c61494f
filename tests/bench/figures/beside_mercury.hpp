// SPDX-License-Identifier: BSD-3-Clause
// Figures of our side compared with Mercury's own programs.
#pragma once

#include "../peers/mercury.hpp"

#include <cstddef>
#include <string>

namespace cinnabar::bench {

struct MercuryShape {
    MercuryWire wire;
    MercuryTool tool;
    std::size_t bytes;
    std::size_t in_flight;
};

// Named `name`.mercury. Each slice of Mercury's programs takes half a second to start.
[[nodiscard]] Figure beside_mercury(const std::string& name, const char* unit, double scale, Metric metric, Bar bar,
                                    const MercuryShape& shape, const MakeSubject& ours);

}  // namespace cinnabar::bench
