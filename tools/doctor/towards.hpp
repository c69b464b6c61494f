// SPDX-License-Identifier: BSD-3-Clause
// Checks a server from this host: which transport reaches the server, and why no better transport does; versions; and
// two seconds of calls and transfers. Every byte of the calls and transfers is compared, because some paths deliver
// wrong bytes without an error.
#pragma once

#include "doctor/finding.hpp"
#include "doctor/host.hpp"

#include <cinnabar/na/types.hpp>

#include <stop_token>
#include <string>

namespace cinnabar::tools::doctor {

struct ServerQuestion {
    std::string uri;
    std::string transport;  // a scheme; empty: the best that the address names
    std::string version;    // of this side
    na::TlsOptions tls;     // for tcps, ofis and verbss
    double seconds = 2;     // of calls and transfers, together
};

// Checks the server. Ids: server-reach, server-way, server-mtu, server-version, server-round-trip, server-bandwidth,
// server-bytes, server-perf. If the server does not serve `cinnabar perf`, a note (server-perf) says so, and version,
// round trip, bandwidth and bytes are not checked.
void check_server(const Host& host, const ServerQuestion& question, const std::stop_token& stop, Findings& found);

}  // namespace cinnabar::tools::doctor
