// SPDX-License-Identifier: BSD-3-Clause
// Node::connect: from the address of a peer to a node that reaches it.
#include "node_core.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::hl {
namespace {

// The address of this host on the route to a numeric IPv4 address, as text. Empty: no route, or not such an address.
std::string own_host_towards(const std::string& host) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(1);
    if (::inet_pton(AF_INET, host.c_str(), &name.sin_addr) != 1) return {};
    const UniqueFd probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // connecting a UDP socket sends nothing
    socklen_t bytes = sizeof name;
    std::array<char, INET_ADDRSTRLEN> text{};
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return {};
    if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return {};
    return ::inet_ntop(AF_INET, &name.sin_addr, text.data(), text.size()) ? text.data() : std::string();
}

// Returns the address to open in order to reach an endpoint. RDMA uses one device: the device of the interface by which
// the kernel reaches the peer. On a simulated network this node needs a name of its own.
std::string client_towards(const std::string& endpoint, const std::string& scheme) {
    if (scheme == "self://") return scheme;
    const auto uri = na::Uri::parse(endpoint);
    if (scheme == "sim://") {
        static std::atomic<unsigned> clients{0};
        const std::string query = endpoint.find('?') == std::string::npos ? "" : endpoint.substr(endpoint.find('?'));
        return scheme + "client" + std::to_string(clients.fetch_add(1)) + query;
    }
    if (scheme != "verbs://" && scheme != "verbss://") return scheme;
    const std::string own = uri ? own_host_towards(uri->host) : std::string();
    return own.empty() ? scheme : scheme + own + ":0";
}

}  // namespace

Result<Connected> Node::connect(std::string_view address, Options options, std::string_view transport) {
    CINNABAR_TRY(const na::Addr peer, na::Addr::parse(address));
    std::vector<std::string> schemes;
    std::vector<std::string> clients;  // what to open to reach the peer, of each scheme once
    for (const std::string& endpoint : peer.body().endpoints) {
        std::string scheme = endpoint.substr(0, endpoint.find("://") + 3);
        const bool wanted = transport.empty() || scheme == std::string(transport) + "://";
        if (!wanted || std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) continue;
        clients.push_back(client_towards(endpoint, scheme));
        schemes.push_back(std::move(scheme));
    }
    if (clients.empty())
        return Error(Errc::bad_address,
                     "the peer does not listen on the transport that was asked for: choose a scheme of its address",
                     std::string(address));
    const std::vector<std::string_view> views(clients.begin(), clients.end());
    CINNABAR_TRY(NodeCore * core, NodeCore::open(views, std::move(options), Purpose::connect));
    Node node(core);
    CINNABAR_TRY(na::Addr found, node.lookup(address));
    return Connected{std::move(node), std::move(found)};
}

}  // namespace cinnabar::hl
