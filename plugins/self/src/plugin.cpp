// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <cinnabar/plugins/self.hpp>

namespace cinnabar::self_ {
namespace {

Result<std::unique_ptr<na::Transport>> open(const na::Uri&, const na::TransportOptions& options) {
    return std::unique_ptr<na::Transport>(std::make_unique<SelfTransport>(options));
}

}  // namespace

const na::PluginInfo plugin_info{na::plugin_abi, "self", "between the contexts of one process, by memcpy", &open};

}  // namespace cinnabar::self_

CINNABAR_PLUGIN(cinnabar::self_::plugin_info)
