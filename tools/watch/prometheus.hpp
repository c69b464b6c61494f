// SPDX-License-Identifier: BSD-3-Clause
// Renders a state in Prometheus' text format, 0.0.4. Peers are aggregated by transport and state; only the busiest
// peers have histograms of their own, so that the number of series does not grow with the number of peers. A pure
// function.
#pragma once

#include "watch/state.hpp"

#include <cstddef>
#include <string>

namespace cinnabar::tools::watch {

inline constexpr std::size_t histogram_peers_max = 16;

[[nodiscard]] std::string prometheus_text(const State& state);

}  // namespace cinnabar::tools::watch
