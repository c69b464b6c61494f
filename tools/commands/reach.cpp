// SPDX-License-Identifier: BSD-3-Clause
#include "commands/reach.hpp"

#include "file/name.hpp"

#include <utility>

namespace cinnabar::tools {

Result<Reached> reach(const std::string& server) {
    auto node = hl::Node::open(server.substr(0, server.find("://") + 3));
    if (!node && node.code() == Errc::unsupported)
        return Error{Errc::bad_address, "no transport of that name is known here", printable(server)};
    if (!node) return std::move(node).error();
    CINNABAR_TRY(auto peer, node->lookup(server));
    return Reached{*std::move(node), std::move(peer)};
}

}  // namespace cinnabar::tools
