// SPDX-License-Identifier: BSD-3-Clause
// Connects to the server at an address given on the command line.
#pragma once

#include <cinnabar/hl/node.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools {

// Connects a node to the server by the transports that the address names, or by `transport` only. `tls`: for addresses
// of tcps, ofis and verbss. bad_address: the address cannot be parsed, does not name `transport`, or names only
// transports that this host does not have. Other errors: as hl::Node::connect.
[[nodiscard]] Result<hl::Connected> reach(const std::string& server, const std::string& transport = {},
                                          unsigned contexts = 1, const na::TlsOptions& tls = {});

// Whether the transport in use verifies the server's identity.
[[nodiscard]] bool proves_server(const hl::Connected& reached);
// Whether only a server that this user trusts can be at the other end: the transport in use verifies the server's
// identity, or reaches only processes of this user on this host.
[[nodiscard]] bool keeps_strangers_out(const hl::Connected& reached);
// Whether the transport of this address, one without commas, verifies identities.
[[nodiscard]] bool proves_peers(std::string_view uri);

// Whether calls may go over the loopback, where the server may belong to any user of this host. Looks host names up.
[[nodiscard]] bool leads_to_loopback(const hl::Connected& reached);

// Names the transport in use; if the server has several, also says why no better transport is in use.
[[nodiscard]] std::string way_to(const hl::Connected& reached);

}  // namespace cinnabar::tools
