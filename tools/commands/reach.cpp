// SPDX-License-Identifier: BSD-3-Clause
#include "commands/reach.hpp"

#include "commands/address.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::tools {
namespace {

bool is_proving(std::string_view scheme) {
    const std::string_view family = na::family_of(scheme);
    return family == "tcps" || family == "ofis" || family == "verbss";
}

}  // namespace

Result<hl::Connected> reach(const std::string& server, const std::string& transport, unsigned contexts,
                            const na::TlsOptions& tls) {
    hl::NodeOptions options;
    options.transport.tls = tls;
    options.progress_thread = false;  // a command waits for each answer and drives the node itself
    options.contexts = contexts;
    auto made = hl::Node::connect(server, std::move(options), transport);
    if (made) return made;
    Error error = std::move(made).error();
    if (error.code == Errc::unsupported) {
        error.hint = "unknown transport: see cinnabar info";
        error.code = Errc::bad_address;
    }
    if (error.code == Errc::bad_address || error.subject.empty()) error.subject = printable(server);
    return error;
}

bool leads_to_loopback(const hl::Connected& reached) {
    const std::string scheme(reached.node.transport_to(reached.peer));
    return std::ranges::any_of(reached.peer.body().endpoints, [&](const auto& endpoint) {
        return endpoint.starts_with(scheme + "://") && dials_loopback(endpoint);
    });
}

bool proves_server(const hl::Connected& reached) { return is_proving(reached.node.transport_to(reached.peer)); }

bool keeps_strangers_out(const hl::Connected& reached) {
    if (proves_server(reached)) return true;
    return reached.node.transport_to(reached.peer) == "shm" &&
           std::ranges::all_of(reached.peer.body().endpoints, [](const auto& endpoint) {
               return !endpoint.starts_with("shm://") || stays_on_host(endpoint).value_or(false);
           });
}

bool proves_peers(std::string_view uri) { return is_proving(uri.substr(0, uri.find("://"))); }

std::string way_to(const hl::Connected& reached) {
    std::string scheme(reached.node.transport_to(reached.peer));
    const auto& endpoints = reached.peer.body().endpoints;
    if (endpoints.size() == 1) return scheme;
    if (scheme == "shm") return "shm: the server is on this host";
    const bool has_shm = std::ranges::any_of(endpoints, [](const auto& known) { return known.starts_with("shm://"); });
    return scheme + (has_shm ? ": shm:// is of another host or user, or was not requested" : "");
}

}  // namespace cinnabar::tools
