// SPDX-License-Identifier: BSD-3-Clause
// The ofi plugin: the fabrics that libfabric reaches, through reliable-datagram endpoints. Needs libfabric 1.14 or
// later. With OpenSSL 3 the plugin has a second scheme, ofis, whose sessions are authenticated and encrypted. See
// plugins/ofi/README.md for addresses, providers and limits.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::ofi {

extern CINNABAR_API const na::PluginInfo plugin_info;
// Only in builds that found OpenSSL.
extern CINNABAR_API const na::PluginInfo tls_plugin_info;

}  // namespace cinnabar::ofi
