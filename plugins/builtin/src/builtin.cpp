// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/plugins/self.hpp>
#ifdef CINNABAR_PLUGIN_ofi
#include <cinnabar/plugins/ofi.hpp>
#endif
#ifdef CINNABAR_PLUGIN_shm
#include <cinnabar/plugins/shm.hpp>
#endif
#ifdef CINNABAR_PLUGIN_sim
#include <cinnabar/plugins/sim.hpp>
#endif
#ifdef CINNABAR_PLUGIN_tcp
#include <cinnabar/plugins/tcp.hpp>
#endif
#ifdef CINNABAR_PLUGIN_verbs
#include <cinnabar/plugins/verbs.hpp>
#endif

namespace cinnabar {

void add_builtin(na::Registry& registry) {
    const auto add = [&registry](const na::PluginInfo& plugin) { CINNABAR_ASSERT(registry.add(plugin).ok()); };
    add(self_::plugin_info);
#ifdef CINNABAR_PLUGIN_sim
    add(sim::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_tcp
    add(tcp::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_shm
    add(shm::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_verbs
    add(verbs::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_ofi
    add(ofi::plugin_info);
#endif
}

}  // namespace cinnabar
