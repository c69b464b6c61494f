// SPDX-License-Identifier: BSD-3-Clause
// Serves the echo of the perf service on an engine, with optional faults.
#pragma once

#include "perf/faults.hpp"

#include <cinnabar/rpc/engine.hpp>

namespace cinnabar::tools::perf {

// exists: the engine serves it already.
[[nodiscard]] Result<void> serve_echo(rpc::Engine& engine, const Faults& faults = {});

}  // namespace cinnabar::tools::perf
