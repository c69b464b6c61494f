// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/introspection.hpp>

namespace cinnabar::hl {

class NodeCore;

// Serves the calls of node_reports.hpp to callers that `to` allows.
[[nodiscard]] Result<void> serve_introspection(NodeCore& node, Introspection to);

}  // namespace cinnabar::hl
