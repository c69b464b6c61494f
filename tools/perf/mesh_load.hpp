// SPDX-License-Identifier: BSD-3-Clause
// A load that a server runs for `cinnabar perf mesh`: closed loops of calls to the echo of each target, all at once, on
// one thread with a node of its own.
#pragma once

#include "perf/mesh_protocol.hpp"

#include <cinnabar/hl/node.hpp>

#include <span>
#include <stop_token>
#include <string>

namespace cinnabar::tools::perf {

// Opens a node for calls to all of these addresses by the transports that this host has; if `transport` (a scheme) is
// not empty, only by this transport. bad_address: no address can be parsed. Also the errors of Node::connect.
[[nodiscard]] Result<hl::Node> node_towards(std::span<const std::string> addresses, const std::string& transport,
                                            hl::NodeOptions options);

// Runs the load, and blocks until it has ended. If a target cannot be reached, the target's pair says so. canceled:
// `stop` was requested. Also the errors of check_load() and node_towards().
[[nodiscard]] Result<LoadOut> run_load(const LoadIn& in, const na::TlsOptions& tls, const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
