// SPDX-License-Identifier: BSD-3-Clause
#include "commands/reach.hpp"

#include "file/name.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

// This host's address, as text, towards a numeric IPv4 address; empty: there is no way, or it is none.
std::string own_host_towards(const std::string& host) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(1);
    if (::inet_pton(AF_INET, host.c_str(), &name.sin_addr) != 1) return {};
    const UniqueFd probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // sends nothing
    socklen_t bytes = sizeof name;
    std::array<char, INET_ADDRSTRLEN> text{};
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return {};
    if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return {};
    return ::inet_ntop(AF_INET, &name.sin_addr, text.data(), text.size()) ? text.data() : std::string();
}

// What to open for an endpoint. RDMA uses one device: that of the interface by which the kernel reaches the server.
std::string place_towards(const std::string& endpoint) {
    std::string scheme = endpoint.substr(0, endpoint.find("://") + 3);
    if (scheme != "verbs://") return scheme;
    const auto uri = na::Uri::parse(endpoint);
    const std::string own = uri ? own_host_towards(uri->host) : std::string();
    return own.empty() ? scheme : scheme + own + ":0";
}

}  // namespace

Result<Reached> reach(const std::string& server, const std::string& transport) {
    CINNABAR_TRY(const auto address, na::Addr::parse(server));
    std::vector<std::string> schemes;
    std::vector<std::string> places;
    for (const auto& endpoint : address.body().endpoints) {
        auto scheme = endpoint.substr(0, endpoint.find("://") + 3);
        const bool wanted = transport.empty() || scheme == transport + "://";
        if (!wanted || std::ranges::find(schemes, scheme) != schemes.end()) continue;
        schemes.push_back(std::move(scheme));
        places.push_back(place_towards(endpoint));
    }
    if (places.empty()) return Error{Errc::bad_address, "the server is not on that transport", printable(server)};
    auto node = hl::Node::open(std::span<const std::string>(places));
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
