// SPDX-License-Identifier: BSD-3-Clause
#include "support/network.hpp"

#include <cinnabar/plugins/builtin.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace cinnabar::support {
namespace {

// RDMA devices of that driver, by the names that the tests' virtual machine gives them: rxe0, rxe1.
std::vector<std::string> rdma_devices(std::string_view driver) {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
        std::string name = entry.path().filename();
        if (name.starts_with(driver)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool is_verbs(NetworkKind kind) { return kind == NetworkKind::verbs_rxe || kind == NetworkKind::verbs_siw; }
std::string_view driver_of(NetworkKind kind) { return kind == NetworkKind::verbs_siw ? "siw" : "rxe"; }

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
        case NetworkKind::shm:
            return "shm";
        case NetworkKind::shm_buffers:
            return "shm_buffers";
        case NetworkKind::verbs_rxe:
            return "verbs_rxe";
        case NetworkKind::verbs_siw:
            return "verbs_siw";
    }
    return "unknown";
}

std::vector<NetworkKind> networks() {
    na::Registry registry;
    add_builtin(registry);
    std::vector<NetworkKind> all{NetworkKind::self, NetworkKind::sim_friendly, NetworkKind::sim_strict};
    const auto plugins = registry.plugins();
    const auto built = [&](std::string_view scheme) {
        return std::any_of(plugins.begin(), plugins.end(), [&](const auto& plugin) { return plugin.scheme == scheme; });
    };
    if (built("tcp")) all.push_back(NetworkKind::tcp);
    if (built("shm")) all.insert(all.end(), {NetworkKind::shm, NetworkKind::shm_buffers});
    for (const NetworkKind kind : {NetworkKind::verbs_rxe, NetworkKind::verbs_siw}) {
        if (built("verbs") && !rdma_devices(driver_of(kind)).empty()) all.push_back(kind);
    }
    return all;
}

Network::Network(NetworkKind kind, std::uint64_t seed) : kind_(kind) {
    add_builtin(registry_);
    if (kind != NetworkKind::sim_friendly && kind != NetworkKind::sim_strict) return;
    sim::WorldOptions options;
    options.seed = seed;
    options.profile = kind == NetworkKind::sim_strict ? sim::Profile::rdma_strict : sim::Profile::friendly;
    world_ = sim::World::make(options);
}

Network::~Network() = default;

Result<std::unique_ptr<na::Transport>> Network::open(const std::string& name, const na::TransportOptions& options) {
    if (world_) return world_->open(name, options);
    if (kind_ == NetworkKind::self) return registry_.open("self://", options);
    if (kind_ == NetworkKind::shm) return registry_.open("shm://", options);
    if (kind_ == NetworkKind::shm_buffers) return registry_.open("shm://?copy=buffers", options);
    if (is_verbs(kind_)) return registry_.open("verbs://" + next_device() + ":0", options);
    return registry_.open("tcp://127.0.0.1:0", options);
}

std::string Network::next_device() {
    const std::vector<std::string> names = rdma_devices(driver_of(kind_));
    return names[opened_++ % names.size()];
}

std::string Network::nobody() {
    if (world_) return "sim://nobody";
    if (kind_ == NetworkKind::self) return "self://?context=63";
    if (kind_ == NetworkKind::shm || kind_ == NetworkKind::shm_buffers) return "shm://nobody-listens-here";
    if (is_verbs(kind_)) {
        // A port that was listened on a moment ago.
        na::TransportOptions options;
        options.listen = true;
        return registry_.open("verbs://" + next_device() + ":0", options).value()->endpoints().front();
    }
    // A port that the system has just given out and taken back: it is not handed to anybody else soon.
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof name;
    (void)::bind(probe, reinterpret_cast<const sockaddr*>(&name), bytes);
    (void)::getsockname(probe, reinterpret_cast<sockaddr*>(&name), &bytes);
    ::close(probe);
    return "tcp://127.0.0.1:" + std::to_string(ntohs(name.sin_port));
}

na::Addr Node::addr(bool with_incarnation) const {
    return na::Addr::make(transport->endpoints(), context->options().id,
                          with_incarnation ? transport->incarnation() : 0);
}

}  // namespace cinnabar::support
