// SPDX-License-Identifier: BSD-3-Clause
// A state as one page of HTML: tables, and the rate of each RPC as a line of SVG. No script; it asks for itself again
// every few seconds. Light and dark, wide and narrow. Pure.
#pragma once

#include "watch/history.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::watch {

[[nodiscard]] std::string html_page(const State& state, const std::vector<RpcRow>& rows, const History& history,
                                    const std::string& address, unsigned refresh_seconds);

}  // namespace cinnabar::tools::watch
