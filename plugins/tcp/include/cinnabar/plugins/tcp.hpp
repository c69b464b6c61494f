// SPDX-License-Identifier: BSD-3-Clause
// The tcp plugin: messages and emulated RMA over TCP sockets, IPv4 and IPv6. Needs nothing but Linux.
// See plugins/tcp/README.md for addresses and limits.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/plugin.hpp>

namespace cinnabar::tcp {

extern CINNABAR_API const na::PluginInfo plugin_info;

}  // namespace cinnabar::tcp
