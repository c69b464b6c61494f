// SPDX-License-Identifier: BSD-3-Clause
// The verbs plugin: RDMA over InfiniBand, RoCE and iWARP, through rdma-core. Needs an RDMA device. See
// plugins/verbs/README.md for addresses and limits.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::verbs {

extern CINNABAR_API const na::PluginInfo plugin_info;
// verbss; only in builds that found OpenSSL.
extern CINNABAR_API const na::PluginInfo tls_plugin_info;

}  // namespace cinnabar::verbs
