// SPDX-License-Identifier: BSD-3-Clause
// The second scheme of the plugin: the same fabrics, with sessions that are proven by TLS and sealed messages.
#include "transport.hpp"

#include <cinnabar/plugins/ofi.hpp>
#include <cinnabar/tls/guards_of.hpp>

namespace cinnabar::ofi {
namespace {

Result<std::unique_ptr<na::Transport>> open_guarded(const na::Uri& uri, const na::TransportOptions& options) {
    CINNABAR_TRY(auto guards, tls::guards_of(uri, options, {"ofis", Greeting::wire_bytes}));
    return OfiTransport::open_guarded(uri, options, std::move(guards));
}

}  // namespace

const na::PluginInfo tls_plugin_info{
    na::plugin_abi, "ofis",
    "libfabric: ofis+PROVIDER://..., with TLS 1.3, by shared keys or certificates; needs OpenSSL 3", &open_guarded,
    "domain, interface, subnet, busy, untested, staging, " CINNABAR_TLS_ADDRESS_OPTIONS};

}  // namespace cinnabar::ofi
