// SPDX-License-Identifier: BSD-3-Clause
// The server to measure, and nodes connected to it.
#pragma once

#include "perf/protocol.hpp"

#include <cinnabar/hl/node.hpp>

#include <chrono>
#include <stop_token>
#include <string>

namespace cinnabar::tools::perf {

struct Target {
    std::string uri;        // address without a path
    std::string transport;  // a scheme; empty: the best one in the address
    na::TlsOptions tls;     // for tcps, ofis and verbss
    std::string way;        // the transport in use, set by find_target()
    AboutOut about;
};

// Makes a node without threads, with `contexts` contexts. Errors of hl::Node::connect, with the address as subject.
[[nodiscard]] Result<hl::Connected> connect_to(const Target& target, unsigned contexts);

// Queries the server; while nobody listens at `uri`, retries for `wait`. no_such_rpc: the server does not serve perf.
// protocol: the server has another version. canceled: `stop` was requested.
[[nodiscard]] Result<Target> find_target(const std::string& uri, const std::string& transport,
                                         std::chrono::duration<double> wait, const std::stop_token& stop,
                                         const na::TlsOptions& tls = {});

}  // namespace cinnabar::tools::perf
