// SPDX-License-Identifier: BSD-3-Clause
// The self plugin: messages and RMA between contexts of one process.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::self_ {

CINNABAR_API extern const na::PluginInfo plugin_info;

}  // namespace cinnabar::self_
