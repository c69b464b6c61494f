// SPDX-License-Identifier: BSD-3-Clause
// The tcp plugin: messages and emulated RMA over TCP sockets, IPv4 and IPv6. Needs nothing but Linux. With OpenSSL 3
// the plugin has a second scheme, tcps, which is the same over TLS 1.3. See plugins/tcp/README.md for addresses and
// limits.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::tcp {

extern CINNABAR_API const na::PluginInfo plugin_info;
// Only in builds that found OpenSSL.
extern CINNABAR_API const na::PluginInfo tls_plugin_info;

}  // namespace cinnabar::tcp
