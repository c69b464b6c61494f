// SPDX-License-Identifier: BSD-3-Clause
#include "commands/reach.hpp"

#include "file/name.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::tools {

Result<Reached> reach(const std::string& server, const std::string& transport) {
    CINNABAR_TRY(const auto address, na::Addr::parse(server));
    std::vector<std::string> schemes;
    for (const auto& endpoint : address.body().endpoints) {
        auto scheme = endpoint.substr(0, endpoint.find("://") + 3);
        const bool wanted = transport.empty() || scheme == transport + "://";
        if (wanted && std::ranges::find(schemes, scheme) == schemes.end()) schemes.push_back(std::move(scheme));
    }
    if (schemes.empty()) return Error{Errc::bad_address, "the server is not on that transport", printable(server)};
    auto node = hl::Node::open(std::span<const std::string>(schemes));
    if (!node && node.code() == Errc::unsupported)
        return Error{Errc::bad_address, "no transport of that name is known here", printable(server)};
    if (!node) return std::move(node).error();
    CINNABAR_TRY(auto peer, node->lookup(server));
    return Reached{*std::move(node), std::move(peer)};
}

std::string way_to(const Reached& reached) {
    std::string scheme(reached.node.transport_to(reached.server));
    const auto& endpoints = reached.server.body().endpoints;
    if (endpoints.size() == 1) return scheme;
    if (scheme == "shm") return "shm: the server is on this host";
    const bool has_shm = std::ranges::any_of(endpoints, [](const auto& known) { return known.starts_with("shm://"); });
    return scheme + (has_shm ? ": shared memory is another host's or user's, or was not wanted" : "");
}

}  // namespace cinnabar::tools
