// SPDX-License-Identifier: BSD-3-Clause
// Sealed messages over tcp: the layer that users get as verbss, on a network that every machine has.
#pragma once

#include <cinnabar/na/plugin.hpp>
#include <cinnabar/plugins/tcp.hpp>
#include <cinnabar/tls/guards_of.hpp>
#include <cinnabar/tls/sealed.hpp>

namespace cinnabar::tls {

inline Result<std::unique_ptr<na::Transport>> open_sealed_over_tcp(const na::Uri& uri,
                                                                   const na::TransportOptions& options) {
    return open_sealed(uri, options, "sealed_tcp", tcp::plugin_info);
}

inline const na::PluginInfo sealed_over_tcp{na::plugin_abi, "sealed_tcp", "sealed messages over tcp, for tests",
                                            &open_sealed_over_tcp, CINNABAR_TLS_ADDRESS_OPTIONS};

}  // namespace cinnabar::tls
