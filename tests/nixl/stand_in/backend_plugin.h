// SPDX-License-Identifier: BSD-3-Clause
// As backend_engine.h: what NIXL's plugin manager asks a plugin for.
#pragma once

#include "backend_engine.h"

#define NIXL_PLUGIN_API_VERSION 1
#define NIXL_PLUGIN_EXPORT __attribute__((visibility("default")))

struct nixlBackendPlugin {
    int api_version;
    nixlBackendEngine* (*create_engine)(const nixlBackendInitParams*);
    void (*destroy_engine)(nixlBackendEngine*);
    std::string name;
    nixl_b_params_t options;
    nixl_mem_list_t memories;
};

template <typename Engine>
struct nixlBackendPluginCreator {
    static nixlBackendPlugin* create(int api_version, const char* name, const char*, const nixl_b_params_t& options,
                                     const nixl_mem_list_t& memories) {
        static nixlBackendPlugin plugin{
            api_version,
            [](const nixlBackendInitParams* params) -> nixlBackendEngine* { return new Engine(params); },
            [](nixlBackendEngine* engine) { delete engine; },
            name,
            options,
            memories};
        return &plugin;
    }
};

extern "C" nixlBackendPlugin* nixl_plugin_init();
extern "C" void nixl_plugin_fini();
