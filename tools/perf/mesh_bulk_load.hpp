// SPDX-License-Identifier: BSD-3-Clause
// A load that a server runs for `cinnabar perf mesh --bulk`: transfers between memory of its own and memory of each
// target, all at once, on one thread with a node of its own. Each transfer has a pattern of its own, and every byte of
// it is compared at the side that received it.
#pragma once

#include "perf/mesh_protocol.hpp"

#include <cinnabar/na/types.hpp>

#include <stop_token>

namespace cinnabar::tools::perf {

// Blocks until the load has ended. A target that cannot be reached, or gives no memory, is told in its pair. canceled:
// stopped. Also the errors of check_load() and node_towards().
[[nodiscard]] Result<BulkLoadOut> run_load(const BulkLoadIn& in, const na::TlsOptions& tls,
                                           const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
