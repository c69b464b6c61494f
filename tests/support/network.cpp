// SPDX-License-Identifier: BSD-3-Clause
#include "support/network.hpp"

#include "support/missing_here.hpp"
#include "support/sanitizers.hpp"
#include "support/test_key.hpp"

#include <cinnabar/plugins/builtin.hpp>
#ifdef CINNABAR_TEST_SEALED
#include <cinnabar/tls/guards_of.hpp>
#include <cinnabar/tls/sealed.hpp>
#endif

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace cinnabar::support {
namespace {

// The scheme of each libfabric provider; null for other networks.
const char* ofi_scheme(NetworkKind kind) noexcept {
    switch (kind) {
        case NetworkKind::ofi_tcp_rxm:
            return "ofi+tcp;ofi_rxm";
        case NetworkKind::ofis_tcp_rxm:
            return "ofis+tcp;ofi_rxm";
        case NetworkKind::ofi_net:
            return "ofi+net";
        case NetworkKind::ofi_sockets:
            return "ofi+sockets";
        case NetworkKind::ofi_shm:
            return "ofi+shm";
        case NetworkKind::ofi_udp_rxd:
            return "ofi+udp;ofi_rxd";
        default:
            return nullptr;
    }
}

constexpr NetworkKind ofi_kinds[]{NetworkKind::ofi_tcp_rxm, NetworkKind::ofi_net, NetworkKind::ofi_sockets,
                                  NetworkKind::ofi_shm, NetworkKind::ofi_udp_rxd};

#ifdef CINNABAR_TEST_SEALED
Result<std::unique_ptr<na::Transport>> open_sealed_tcp(const na::Uri& uri, const na::TransportOptions& options) {
    na::Registry registry;
    add_builtin(registry);
    const auto plugins = registry.plugins();
    const auto tcp =
        std::find_if(plugins.begin(), plugins.end(), [](const auto& each) { return each.scheme == "tcp"; });
    if (tcp == plugins.end()) return Error(Errc::unsupported, "this build has no tcp");
    return tls::open_sealed(uri, options, "sealed_tcp", *tcp);
}

const na::PluginInfo sealed_tcp_info{na::plugin_abi, "sealed_tcp", "sealed messages over tcp, for tests",
                                     &open_sealed_tcp, CINNABAR_TLS_ADDRESS_OPTIONS};
#endif

std::string ofi_address(NetworkKind kind, const std::string& port) {
    return std::string(ofi_scheme(kind)) + "://127.0.0.1:" + port;
}

}  // namespace

const char* to_string(NetworkKind kind) noexcept {
    switch (kind) {
        case NetworkKind::self:
            return "self";
        case NetworkKind::sim_friendly:
            return "sim_friendly";
        case NetworkKind::sim_strict:
            return "sim_strict";
        case NetworkKind::tcp:
            return "tcp";
        case NetworkKind::tcps:
            return "tcps";
        case NetworkKind::sealed_tcp:
            return "sealed_tcp";
        case NetworkKind::shm:
            return "shm";
        case NetworkKind::shm_buffers:
            return "shm_buffers";
        case NetworkKind::cable:
            return "cable";
        case NetworkKind::ofi_tcp_rxm:
            return "ofi_tcp_rxm";
        case NetworkKind::ofis_tcp_rxm:
            return "ofis_tcp_rxm";
        case NetworkKind::ofi_net:
            return "ofi_net";
        case NetworkKind::ofi_sockets:
            return "ofi_sockets";
        case NetworkKind::ofi_shm:
            return "ofi_shm";
        case NetworkKind::ofi_udp_rxd:
            return "ofi_udp_rxd";
    }
    return "unknown";
}

std::vector<NetworkKind> networks() {
    if (cable_ends()) return {NetworkKind::cable};
    na::Registry registry;
    add_builtin(registry);
    std::vector<NetworkKind> all{NetworkKind::self, NetworkKind::sim_friendly, NetworkKind::sim_strict};
    const auto plugins = registry.plugins();
    const auto built = [&](std::string_view scheme) {
        return std::any_of(plugins.begin(), plugins.end(), [&](const auto& plugin) { return plugin.scheme == scheme; });
    };
    if (built("tcp")) all.push_back(NetworkKind::tcp);
    if (built("tcps")) all.push_back(NetworkKind::tcps);
    if (built("shm")) all.insert(all.end(), {NetworkKind::shm, NetworkKind::shm_buffers});
    if (built("ofi")) {
        all.insert(all.end(), std::begin(ofi_kinds), thread_sanitizer ? ofi_kinds + 1 : std::end(ofi_kinds));
    }
    if (built("ofis")) all.push_back(NetworkKind::ofis_tcp_rxm);
    return all;
}

std::vector<NetworkKind> contract_networks() {
    std::vector<NetworkKind> all = networks();
#ifdef CINNABAR_TEST_SEALED
    if (std::find(all.begin(), all.end(), NetworkKind::tcp) != all.end()) all.push_back(NetworkKind::sealed_tcp);
#endif
    return all;
}

std::vector<NetworkKind> networks_for_calls() {
    std::vector<NetworkKind> all = networks();
    std::erase_if(all, [](NetworkKind kind) { return kind > NetworkKind::ofi_net; });
    return all;
}

Network::Network(NetworkKind kind, std::uint64_t seed) : kind_(kind) {
    add_builtin(registry_);
#ifdef CINNABAR_TEST_SEALED
    if (kind == NetworkKind::sealed_tcp) registry_.add(sealed_tcp_info).value();
#endif
    if (kind == NetworkKind::cable) cable_ = cable_ends();
    if (kind != NetworkKind::sim_friendly && kind != NetworkKind::sim_strict) return;
    sim::WorldOptions options;
    options.seed = seed;
    options.profile = kind == NetworkKind::sim_strict ? sim::Profile::rdma_strict : sim::Profile::friendly;
    world_ = sim::World::make(options);
}

Network::~Network() = default;

bool Network::is_one_sided() const noexcept {
    return one_process() || kind_ == NetworkKind::shm || (cable_ && cable_->is_of("verbs"));
}

std::string Network::missing() const {
    if (!is_ofi()) return {};
    // The plain scheme tells whether the provider is here; then the protected one has to open.
    const NetworkKind plain = kind_ == NetworkKind::ofis_tcp_rxm ? NetworkKind::ofi_tcp_rxm : kind_;
    return missing_here(registry_.open(ofi_address(plain, "0"), {}));
}

Result<std::unique_ptr<na::Transport>> Network::open(const std::string& name, const na::TransportOptions& options) {
    if (world_) return world_->open(name, options);
    if (kind_ == NetworkKind::self) return registry_.open("self://", options);
    if (kind_ == NetworkKind::shm) return registry_.open("shm://", options);
    if (kind_ == NetworkKind::shm_buffers) return registry_.open("shm://?copy=buffers", options);
    na::TransportOptions with_key = options;
    with_key.tls.key_file = test_key_file();
    if (cable_) {
        const std::string& place = opened_++ % 2 == 0 ? cable_->near_end : cable_->far_end;
        return registry_.open(place, cable_->is_of("verbss") ? with_key : options);
    }
    if (is_ofi()) return registry_.open(ofi_address(kind_, "0"), with_key);
    if (kind_ == NetworkKind::tcps) return registry_.open("tcps://127.0.0.1:0", with_key);
    if (kind_ == NetworkKind::sealed_tcp) return registry_.open("sealed_tcp://127.0.0.1:0", with_key);
    return registry_.open("tcp://127.0.0.1:0", options);
}

std::string Network::nobody() {
    if (world_) return "sim://nobody";
    if (kind_ == NetworkKind::self) return "self://?context=63";
    if (kind_ == NetworkKind::shm || kind_ == NetworkKind::shm_buffers) return "shm://nobody-listens-here";
    // A port that the system assigned and that was released at once; it is not assigned again soon.
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof name;
    (void)::bind(probe, reinterpret_cast<const sockaddr*>(&name), bytes);
    (void)::getsockname(probe, reinterpret_cast<sockaddr*>(&name), &bytes);
    ::close(probe);
    const std::string port = std::to_string(ntohs(name.sin_port));
    if (cable_) return cable_->far_end.substr(0, cable_->far_end.rfind(':') + 1) + port;
    if (is_ofi()) return ofi_address(kind_, port);
    if (kind_ == NetworkKind::sealed_tcp) return "sealed_tcp://127.0.0.1:" + port;
    return (kind_ == NetworkKind::tcps ? "tcps://127.0.0.1:" : "tcp://127.0.0.1:") + port;
}

na::Addr Node::addr(bool with_incarnation) const {
    return na::Addr::make(transport->endpoints(), context->options().id,
                          with_incarnation ? transport->incarnation() : 0);
}

}  // namespace cinnabar::support
