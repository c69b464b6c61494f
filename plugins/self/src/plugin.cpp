// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <cinnabar/plugins/self.hpp>

namespace cinnabar::self_ {
namespace {

Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri, const na::TransportOptions& options) {
    auto made = SelfTransport::make(uri.host, uri.option("alone") == "yes", options);
    if (!made) return Error(Errc::address_in_use, "another node of this process has that name", uri.to_string());
    return std::unique_ptr<na::Transport>(std::move(made));
}

}  // namespace

const na::PluginInfo plugin_info{na::plugin_abi, "self", "between the contexts of one process, by memcpy", &open,
                                 "alone"};

}  // namespace cinnabar::self_

CINNABAR_PLUGIN(cinnabar::self_::plugin_info)
