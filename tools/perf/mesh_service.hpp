// SPDX-License-Identifier: BSD-3-Clause
// Serves load_rpc and bulk_load_rpc. A server that calls addresses of its callers' choice could be used to attack
// others. So the server's user must allow such loads, each load is bounded (check_load), and only one load runs at a
// time.
#pragma once

#include <cinnabar/hl/node.hpp>

namespace cinnabar::tools::perf {

struct LoadOptions {
    bool allowed = false;
    na::TlsOptions tls;  // by which the load proves itself to targets of tcps, ofis and verbss
};

// The node must outlive the calls. exists: it serves them already.
[[nodiscard]] Result<void> serve_loads(const hl::NodeRef& node, const LoadOptions& options);

}  // namespace cinnabar::tools::perf
