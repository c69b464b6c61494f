// SPDX-License-Identifier: BSD-3-Clause
// The second scheme of the plugin: the same transport over TLS.
#include "transport.hpp"

#include <cinnabar/plugins/tcp.hpp>
#include <cinnabar/tls/guards_of.hpp>

namespace cinnabar::tcp {
namespace {

Result<std::unique_ptr<na::Transport>> open_tls(const na::Uri& uri, const na::TransportOptions& options) {
    constexpr tls::ProtectedScheme scheme{"tcps", Greeting::wire_bytes};
    CINNABAR_TRY(auto guards, tls::guards_of(uri, options, scheme));
    return TcpTransport::open_guarded(uri, options, scheme.name, std::move(guards));
}

}  // namespace

const na::PluginInfo tls_plugin_info{na::plugin_abi, "tcps",
                                     "TCP sockets with TLS 1.3, by shared keys or certificates; needs OpenSSL 3",
                                     &open_tls, CINNABAR_TLS_ADDRESS_OPTIONS};

}  // namespace cinnabar::tcp
