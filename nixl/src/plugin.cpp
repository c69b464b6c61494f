// SPDX-License-Identifier: BSD-3-Clause
// The functions through which NIXL's plugin manager finds the backend.
#include "engine.hpp"

#include <backend_plugin.h>

extern "C" NIXL_PLUGIN_EXPORT nixlBackendPlugin* nixl_plugin_init() {
    using cinnabar::nixl::Engine;
    return nixlBackendPluginCreator<Engine>::create(NIXL_PLUGIN_API_VERSION, Engine::name, "0.1.0", Engine::options(),
                                                    Engine::memories());
}

extern "C" NIXL_PLUGIN_EXPORT void nixl_plugin_fini() {}
