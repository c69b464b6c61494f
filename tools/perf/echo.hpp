// SPDX-License-Identifier: BSD-3-Clause
// Serves the echo of the perf service on an engine, with faults if it shall have any.
#pragma once

#include "perf/faults.hpp"

#include <cinnabar/rpc/engine.hpp>

namespace cinnabar::tools::perf {

// exists: it is served already.
[[nodiscard]] Result<void> serve_echo(rpc::Engine& engine, const Faults& faults = {});

}  // namespace cinnabar::tools::perf
