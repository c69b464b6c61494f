// SPDX-License-Identifier: BSD-3-Clause
// The plugins that were compiled in: the one place in the tree that names them.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/registry.hpp>

namespace cinnabar {

// Loads the plugins whose files the variable CINNABAR_PLUGINS names, with ':' between them, then adds all that were
// compiled in but those whose scheme is there already. A file that cannot be loaded is told in the log as an error. The
// program must be made to take plugins: docs/writing-a-plugin.md.
CINNABAR_API void add_builtin(na::Registry& registry);

}  // namespace cinnabar
