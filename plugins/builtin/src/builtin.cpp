// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
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

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cinnabar {
namespace {

void load_named(na::Registry& registry) {
    const char* const named = ::secure_getenv("CINNABAR_PLUGINS");
    for (std::string_view left = named ? named : ""; !left.empty();) {
        const std::string path(left.substr(0, left.find(':')));
        left.remove_prefix(std::min(path.size() + 1, left.size()));
        if (path.empty()) continue;
        if (const auto loaded = registry.load(path); !loaded) {
            log(LogLevel::error, "na", "CINNABAR_PLUGINS: %s", loaded.error().message().c_str());
        }
    }
}

}  // namespace

void add_builtin(na::Registry& registry) {
    load_named(registry);
    const auto add = [&registry](const na::PluginInfo& plugin) {
        const Errc added = registry.add(plugin).code();
        CINNABAR_ASSERT(added == Errc::ok || added == Errc::exists);
    };
    add(self_::plugin_info);
#ifdef CINNABAR_PLUGIN_sim
    add(sim::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_tcp
    add(tcp::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_tcps
    add(tcp::tls_plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_shm
    add(shm::plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_ofi
    add(ofi::plugin_info);
#endif
#if defined(CINNABAR_PLUGIN_ofi) && defined(CINNABAR_PLUGIN_tcps)
    add(ofi::tls_plugin_info);
#endif
#ifdef CINNABAR_PLUGIN_verbs
    add(verbs::plugin_info);
#endif
#if defined(CINNABAR_PLUGIN_verbs) && defined(CINNABAR_PLUGIN_tcps)
    add(verbs::tls_plugin_info);
#endif
}

}  // namespace cinnabar
