// SPDX-License-Identifier: BSD-3-Clause
// Renders a state in Prometheus' text format, 0.0.4. Peers are aggregated by transport and state, so that the number of
// series does not grow with the number of peers. A pure function.
#pragma once

#include "watch/state.hpp"

#include <string>

namespace cinnabar::tools::watch {

[[nodiscard]] std::string prometheus_text(const State& state);

}  // namespace cinnabar::tools::watch
