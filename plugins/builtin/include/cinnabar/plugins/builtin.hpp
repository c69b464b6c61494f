// SPDX-License-Identifier: BSD-3-Clause
// The plugins that were compiled in: the one place in the tree that names them.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/registry.hpp>

namespace cinnabar {

// Adds all of them. Requires: the registry holds none of them yet.
CINNABAR_API void add_builtin(na::Registry& registry);

}  // namespace cinnabar
