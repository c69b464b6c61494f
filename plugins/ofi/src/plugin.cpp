// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <cinnabar/plugins/ofi.hpp>

namespace cinnabar::ofi {

const na::PluginInfo plugin_info{na::plugin_abi, "ofi",
                                 "libfabric: ofi+PROVIDER://..., over tcp and verbs; UNTESTED: cxi, efa, opx, psm3",
                                 &OfiTransport::open, "domain, interface, subnet, busy, untested, staging"};

}  // namespace cinnabar::ofi

CINNABAR_PLUGIN(cinnabar::ofi::plugin_info)
