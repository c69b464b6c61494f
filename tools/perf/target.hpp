// SPDX-License-Identifier: BSD-3-Clause
// The server that is measured, and nodes that reach it.
#pragma once

#include "perf/protocol.hpp"

#include <cinnabar/hl/node.hpp>

#include <chrono>
#include <stop_token>
#include <string>

namespace cinnabar::tools::perf {

struct Target {
    std::string uri;        // without a path
    std::string transport;  // a scheme; empty: the best that the address names
    na::TlsOptions tls;     // for tcps
    std::string way;        // the transport that calls take, once it was found
    AboutOut about;
};

// A node without threads of its own, with so many contexts. Errors: hl::Node::connect; its subject is the address.
[[nodiscard]] Result<hl::Connected> connect_to(const Target& target, unsigned contexts);

// Asks the server about itself; while nobody listens there, again and again for `wait`. no_such_rpc: it serves no perf.
// protocol: of another version. canceled: stopped.
[[nodiscard]] Result<Target> find_target(const std::string& uri, const std::string& transport,
                                         std::chrono::duration<double> wait, const std::stop_token& stop,
                                         const na::TlsOptions& tls = {});

}  // namespace cinnabar::tools::perf
