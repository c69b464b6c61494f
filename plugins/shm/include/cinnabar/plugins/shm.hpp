// SPDX-License-Identifier: BSD-3-Clause
// The shm plugin: messages through rings in shared memory and RMA by cross-memory copy, between processes of one host.
// Needs nothing but Linux. See plugins/shm/README.md for addresses and limits.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::shm {

extern CINNABAR_API const na::PluginInfo plugin_info;

}  // namespace cinnabar::shm
