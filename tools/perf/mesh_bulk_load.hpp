// SPDX-License-Identifier: BSD-3-Clause
// A load that a server runs for `cinnabar perf mesh --bulk`: transfers between its own memory and memory of each
// target, all at once, on one thread and with a node of its own. Each transfer has its own pattern, and the receiving
// side compares every byte.
#pragma once

#include "perf/mesh_protocol.hpp"

#include <cinnabar/na/types.hpp>

#include <stop_token>

namespace cinnabar::tools::perf {

// Runs the load, and blocks until it has ended. If a target cannot be reached, or gives no memory, the target's pair
// says so. canceled: `stop` was requested. Also the errors of check_load() and node_towards().
[[nodiscard]] Result<BulkLoadOut> run_load(const BulkLoadIn& in, const na::TlsOptions& tls,
                                           const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
