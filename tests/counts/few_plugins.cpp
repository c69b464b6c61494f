// SPDX-License-Identifier: BSD-3-Clause
// Replaces plugins/builtin: only the transports that are counted.
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/plugins/self.hpp>
#include <cinnabar/plugins/shm.hpp>
#include <cinnabar/plugins/tcp.hpp>

namespace cinnabar {

void add_builtin(na::Registry& registry) {
    for (const na::PluginInfo* plugin : {&self_::plugin_info, &tcp::plugin_info, &shm::plugin_info}) {
        (void)registry.add(*plugin);  // `exists`: another transport of the process has added it
    }
}

}  // namespace cinnabar
