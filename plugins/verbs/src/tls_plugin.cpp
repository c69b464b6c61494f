// SPDX-License-Identifier: BSD-3-Clause
// The second scheme of the plugin: sealed messages over verbs. The device would move the bytes of puts and gets in the
// clear, so this scheme uses the device for messages only; decision 0117.
#include <cinnabar/plugins/verbs.hpp>
#include <cinnabar/tls/guards_of.hpp>
#include <cinnabar/tls/sealed.hpp>

namespace cinnabar::verbs {
namespace {

Result<std::unique_ptr<na::Transport>> open_sealed(const na::Uri& uri, const na::TransportOptions& options) {
    return tls::open_sealed(uri, options, "verbss", plugin_info);
}

}  // namespace

const na::PluginInfo tls_plugin_info{
    na::plugin_abi, "verbss",
    "RDMA with TLS 1.3, by shared keys or certificates: sealed messages only; needs a device and OpenSSL 3",
    &open_sealed, CINNABAR_TLS_ADDRESS_OPTIONS};

}  // namespace cinnabar::verbs
