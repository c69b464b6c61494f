// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <cinnabar/plugins/verbs.hpp>

namespace cinnabar::verbs {

const na::PluginInfo plugin_info{na::plugin_abi, "verbs", "RDMA: InfiniBand, RoCE, iWARP; needs a device",
                                 &VerbsTransport::open, "windows"};

}  // namespace cinnabar::verbs

CINNABAR_PLUGIN(cinnabar::verbs::plugin_info)
