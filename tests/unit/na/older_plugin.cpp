// SPDX-License-Identifier: BSD-3-Clause
// A plugin built for another ABI.
#include <cinnabar/na/plugin.hpp>

namespace {
const cinnabar::na::PluginInfo older{
    cinnabar::na::plugin_abi + 1, "older", "for another version",
    [](const cinnabar::na::Uri&, const cinnabar::na::TransportOptions&)
        -> cinnabar::Result<std::unique_ptr<cinnabar::na::Transport>> { return cinnabar::Errc::unsupported; }};
}  // namespace

CINNABAR_PLUGIN(older)
