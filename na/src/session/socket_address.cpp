// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/socket_address.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

namespace cinnabar::na {
namespace {

constexpr std::size_t addresses_max = 8;

// Whether others can use the address; link-local ones need an interface name.
bool usable(const ifaddrs& entry) {
    if (!entry.ifa_addr || (entry.ifa_flags & IFF_UP) == 0) return false;
    if (entry.ifa_addr->sa_family == AF_INET) return true;
    if (entry.ifa_addr->sa_family != AF_INET6) return false;
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
    return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

void add(std::vector<SocketAddress>& list, SocketAddress address, std::uint16_t port) {
    address.set_port(port);
    if (list.size() < addresses_max && std::find(list.begin(), list.end(), address) == list.end()) {
        list.push_back(address);
    }
}

using Addresses = std::vector<SocketAddress>;

// Calls getaddrinfo; with AI_NUMERICHOST it accepts only numbers and asks no name server. Returns 0 or EAI_*. Lack of
// memory throws bad_alloc, so that it is not mistaken for an unknown host.
int ask(const std::string& host, int flags, std::uint16_t port, Addresses& found) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
    if (failed == EAI_MEMORY || (failed == EAI_SYSTEM && errno == ENOMEM)) throw std::bad_alloc();
    if (failed != 0) return failed;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
    for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
        if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6) {
            add(found, SocketAddress(entry->ai_addr), port);
        }
    }
    return 0;
}

Addresses loopback(std::uint16_t port) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    Addresses found;
    add(found, SocketAddress(reinterpret_cast<const sockaddr*>(&v4)), port);
    add(found, SocketAddress(reinterpret_cast<const sockaddr*>(&v6)), port);
    return found;
}

template <typename GetName>
SocketAddress named(int fd, GetName get_name) noexcept {
    sockaddr_storage storage{};
    socklen_t bytes = sizeof storage;
    if (get_name(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return {};
    return SocketAddress(reinterpret_cast<const sockaddr*>(&storage));
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* from) noexcept : v6_{} {
    if (from->sa_family == AF_INET) std::memcpy(&v4_, from, sizeof v4_);
    if (from->sa_family != AF_INET6) return;
    std::memcpy(&v6_, from, sizeof v6_);
    if (!IN6_IS_ADDR_V4MAPPED(&v6_.sin6_addr)) return;
    sockaddr_in plain{};
    plain.sin_family = AF_INET;
    plain.sin_port = v6_.sin6_port;
    std::memcpy(&plain.sin_addr, v6_.sin6_addr.s6_addr + 12, 4);
    v6_ = {};
    v4_ = plain;
}

SocketAddress SocketAddress::any_v6(std::uint16_t port) noexcept {
    SocketAddress address;
    address.v6_.sin6_family = AF_INET6;
    address.set_port(port);
    return address;
}

SocketAddress SocketAddress::any_v4(std::uint16_t port) noexcept {
    SocketAddress address;
    address.v4_.sin_family = AF_INET;
    address.set_port(port);
    return address;
}

SocketAddress SocketAddress::peer_of(int fd) noexcept { return named(fd, ::getpeername); }
SocketAddress SocketAddress::local_of(int fd) noexcept { return named(fd, ::getsockname); }

bool SocketAddress::is_any() const noexcept {
    return family() == AF_INET ? v4_.sin_addr.s_addr == INADDR_ANY : IN6_IS_ADDR_UNSPECIFIED(&v6_.sin6_addr) != 0;
}

bool SocketAddress::is_loopback() const noexcept {
    return family() == AF_INET ? (ntohl(v4_.sin_addr.s_addr) >> 24) == 127 : IN6_IS_ADDR_LOOPBACK(&v6_.sin6_addr) != 0;
}

bool SocketAddress::same_host(const SocketAddress& other) const noexcept {
    if (family() != other.family()) return false;
    if (family() == AF_INET) return v4_.sin_addr.s_addr == other.v4_.sin_addr.s_addr;
    return std::memcmp(&v6_.sin6_addr, &other.v6_.sin6_addr, sizeof v6_.sin6_addr) == 0 &&
           v6_.sin6_scope_id == other.v6_.sin6_scope_id;
}

std::string SocketAddress::host() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* from = family() == AF_INET ? static_cast<const void*>(&v4_.sin_addr) : &v6_.sin6_addr;
    (void)::inet_ntop(family(), from, text.data(), text.size());
    return text.data();
}

std::string SocketAddress::endpoint(std::string_view scheme) const {
    std::string text = host();
    if (family() == AF_INET6) text.insert(0, 1, '[').push_back(']');
    return std::string(scheme) + "://" + text + ":" + std::to_string(port());
}

std::string SocketAddress::log_name(std::string_view scheme) const noexcept {
    try {
        return endpoint(scheme);
    } catch (const std::bad_alloc&) {
        return "a peer";
    }
}

std::optional<Result<std::vector<SocketAddress>>> resolve_at_once(const Uri& uri, Purpose purpose) {
    const bool dial = purpose == Purpose::dial;
    if (dial && uri.port.value_or(0) == 0) {
        return Error(Errc::bad_address, "an address to dial needs a port", uri.to_string());
    }
    const std::uint16_t port = uri.port.value_or(0);
    if (uri.host.empty() && !dial) return Addresses{SocketAddress::any_v6(port), SocketAddress::any_v4(port)};
    if (uri.host.empty() || (dial && uri.host == "localhost")) return loopback(port);
    if (::if_nametoindex(uri.host.c_str()) != 0) {
        Addresses found = interface_addresses(uri.host, port);
        if (found.empty()) return Error(Errc::bad_address, "that interface is down or has no address", uri.host);
        found.resize(std::min(found.size(), addresses_max));
        return found;
    }
    Addresses found;
    if (ask(uri.host, AI_NUMERICHOST, port, found) == 0) return found;
    return std::nullopt;
}

Result<std::vector<SocketAddress>> look_host_up(const std::string& name) {
    Addresses found;
    if (const int failed = ask(name, 0, 0, found); failed != 0) {
        return Error(Errc::bad_address, "no host or interface of that name", name + ": " + ::gai_strerror(failed));
    }
    if (found.empty()) return Error(Errc::bad_address, "that host has no IPv4 or IPv6 address", name);
    return found;
}

Result<std::vector<SocketAddress>> resolve(const Uri& uri, Purpose purpose) {
    if (auto known = resolve_at_once(uri, purpose)) return *std::move(known);
    CINNABAR_TRY(Addresses found, look_host_up(uri.host));
    for (SocketAddress& address : found) address.set_port(uri.port.value_or(0));
    return found;
}

std::vector<SocketAddress> interface_addresses(std::string_view name, std::uint16_t port) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        if (errno == ENOMEM) throw std::bad_alloc();
        return {};
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
    std::vector<SocketAddress> found;
    for (const int family : {AF_INET, AF_INET6}) {
        for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
            if (!usable(*entry) || entry->ifa_addr->sa_family != family) continue;
            if (!name.empty() && name != entry->ifa_name) continue;
            SocketAddress address(entry->ifa_addr);
            address.set_port(port);
            if (std::find(found.begin(), found.end(), address) == found.end()) found.push_back(address);
        }
    }
    return found;
}

std::vector<std::string> reachable_endpoints(const SocketAddress& bound, std::string_view scheme) {
    if (!bound.is_any()) return {bound.endpoint(scheme)};
    std::vector<SocketAddress> remote;
    std::vector<SocketAddress> loopback;
    for (const SocketAddress& address : interface_addresses({}, bound.port())) {
        if (bound.family() == AF_INET && address.family() == AF_INET6) continue;
        add(address.is_loopback() ? loopback : remote, address, bound.port());
    }
    std::vector<std::string> endpoints;
    for (const SocketAddress& address : remote.empty() ? loopback : remote)
        endpoints.push_back(address.endpoint(scheme));
    return endpoints;
}

}  // namespace cinnabar::na
