// SPDX-License-Identifier: BSD-3-Clause
// The plugins that were compiled in. No other file lists them.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/registry.hpp>

namespace cinnabar {

// First loads the plugin files named in the environment variable CINNABAR_PLUGINS, separated by ':', then adds the
// compiled-in plugins whose scheme is not known yet. A file that cannot be loaded is logged as an error. The program
// must be linked such that it can load plugins: docs/writing-a-plugin.md.
CINNABAR_API void add_builtin(na::Registry& registry);

}  // namespace cinnabar
