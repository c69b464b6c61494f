// SPDX-License-Identifier: BSD-3-Clause
// Renders a state as an HTML page: tables, and the rate of each RPC as an SVG line. The page has no script, reloads
// every few seconds, and fits light, dark, wide and narrow screens. Pure.
#pragma once

#include "watch/history.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::watch {

[[nodiscard]] std::string html_page(const State& state, const std::vector<RpcRow>& rows, const History& history,
                                    const std::string& address, unsigned refresh_seconds);

}  // namespace cinnabar::tools::watch
