// SPDX-License-Identifier: BSD-3-Clause
#include "tls/guards.hpp"

#include <cinnabar/plugins/tcp.hpp>

#include <utility>

namespace cinnabar::tcp {
namespace {

// What stands in the address counts more.
na::TlsOptions options_of(const na::Uri& uri, const na::TransportOptions& options) {
    na::TlsOptions tls = options.tls;
    const auto take = [&](std::string_view name, std::string& into) {
        if (const std::string_view value = uri.option(name); !value.empty()) into = value;
    };
    take("key", tls.key_file);
    take("cert", tls.certificate_file);
    take("cert_key", tls.private_key_file);
    take("ca", tls.ca_file);
    take("name", tls.peer_name);
    return tls;
}

Result<std::unique_ptr<na::Transport>> open_tls(const na::Uri& uri, const na::TransportOptions& options) {
    CINNABAR_TRY(auto guards, TlsGuards::make(options_of(uri, options)));
    return TcpTransport::open_guarded(uri, options, TlsGuards::scheme, std::move(guards));
}

}  // namespace

const na::PluginInfo tls_plugin_info{na::plugin_abi, TlsGuards::scheme,
                                     "TCP sockets with TLS 1.3, by shared keys or certificates; needs OpenSSL 3",
                                     &open_tls, "key, cert, cert_key, ca, name"};

}  // namespace cinnabar::tcp
