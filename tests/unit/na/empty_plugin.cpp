// SPDX-License-Identifier: BSD-3-Clause
// A shared object with a plugin's symbol, and no plugin behind it.
#include <cinnabar/na/plugin.hpp>

extern "C" CINNABAR_API const cinnabar::na::PluginInfo* cinnabar_plugin() { return nullptr; }
