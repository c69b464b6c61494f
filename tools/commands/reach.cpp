// SPDX-License-Identifier: BSD-3-Clause
#include "commands/reach.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::tools {

Result<Reached> reach(const std::string& server, const std::string& transport) {
    // A command waits for each answer: it drives the node itself.
    auto made = hl::Node::connect(server, {.progress_thread = false}, transport);
    if (made) return Reached{std::move(made->node), std::move(made->peer)};
    Error error = std::move(made).error();
    if (error.code == Errc::unsupported) error.hint = "no transport of that name is known here";
    if (error.code == Errc::unsupported) error.code = Errc::bad_address;
    error.subject = files::printable(server);
    return error;
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
