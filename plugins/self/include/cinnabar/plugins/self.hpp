// SPDX-License-Identifier: BSD-3-Clause
// The plugin of scheme "self": messages and RMA between the contexts of one process that were opened on one transport.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::self_ {

CINNABAR_API extern const na::PluginInfo plugin_info;

}  // namespace cinnabar::self_
