// SPDX-License-Identifier: BSD-3-Clause
// From the address on a command line to a server that can be called.
#pragma once

#include <cinnabar/hl/node.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools {

// Connects a node with the transports that the address names, or with `transport` only. bad_address: no such transport,
// or the address cannot be parsed. `tls`: for addresses of tcps.
[[nodiscard]] Result<hl::Connected> reach(const std::string& server, const std::string& transport = {},
                                          unsigned contexts = 1, const na::TlsOptions& tls = {});

// Whether the transport of the calls makes the server prove its identity.
[[nodiscard]] bool proves_server(const hl::Connected& reached);
// Whether every transport in the address does that.
[[nodiscard]] bool proves_peers(std::string_view uri);

// Whether calls go by the loopback, where any user of this host may be who listens.
[[nodiscard]] bool leads_to_loopback(const hl::Connected& reached);

// Which of the endpoints calls use, and why.
[[nodiscard]] std::string way_to(const hl::Connected& reached);

}  // namespace cinnabar::tools
