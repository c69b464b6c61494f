// SPDX-License-Identifier: BSD-3-Clause
// A whole state as one line of JSON, for scripts (docs/watch.md, "As JSON"). A pure function.
#pragma once

#include "watch/history.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::watch {

// `rows`: those of the state (History::take).
[[nodiscard]] std::string state_json(const State& state, const std::vector<RpcRow>& rows, const History& history);

}  // namespace cinnabar::tools::watch
