// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <cinnabar/plugins/tcp.hpp>

namespace cinnabar::tcp {

const na::PluginInfo plugin_info{na::plugin_abi, "tcp", "TCP sockets, IPv4 and IPv6; needs nothing",
                                 &TcpTransport::open};

}  // namespace cinnabar::tcp

CINNABAR_PLUGIN(cinnabar::tcp::plugin_info)
