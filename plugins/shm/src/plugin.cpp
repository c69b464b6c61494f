// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <cinnabar/plugins/shm.hpp>

namespace cinnabar::shm {

const na::PluginInfo plugin_info{na::plugin_abi, "shm", "shared memory, processes of one host; needs nothing",
                                 &ShmTransport::open, "copy, group, place"};

}  // namespace cinnabar::shm

CINNABAR_PLUGIN(cinnabar::shm::plugin_info)
