// SPDX-License-Identifier: BSD-3-Clause
#include "address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

namespace cinnabar::verbs {
namespace {

constexpr std::size_t addresses_max = 64;

void add(std::vector<SocketAddress>& list, SocketAddress address, std::uint16_t port) {
    address.set_port(port);
    if (list.size() < addresses_max && std::find(list.begin(), list.end(), address) == list.end()) {
        list.push_back(address);
    }
}

// Of one interface, or, with an empty name, of all that are up; IPv4 first, the loopback never.
std::vector<SocketAddress> of_interfaces(std::string_view name, std::uint16_t port) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
    std::vector<SocketAddress> found;
    for (const int family : {AF_INET, AF_INET6}) {
        for (const ifaddrs* entry = first; entry; entry = entry->ifa_next) {
            if (!entry->ifa_addr || entry->ifa_addr->sa_family != family || (entry->ifa_flags & IFF_UP) == 0) continue;
            if (!name.empty() && name != entry->ifa_name) continue;
            const SocketAddress address(entry->ifa_addr);
            const bool link_local =
                family == AF_INET6 &&
                IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr);
            if (!address.is_loopback() && !link_local) add(found, address, port);
        }
    }
    return found;
}

// Endpoints name hosts by number: then nobody is asked, and no file is read.
bool by_number(const std::string& host, SocketAddress& out) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
        out = SocketAddress(reinterpret_cast<const sockaddr*>(&v4));
        return true;
    }
    if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return false;
    out = SocketAddress(reinterpret_cast<const sockaddr*>(&v6));
    return true;
}

Result<std::vector<SocketAddress>> of_host(const std::string& host, std::uint16_t port) {
    if (SocketAddress address; by_number(host, address)) {
        address.set_port(port);
        return std::vector{address};
    }
    if (::if_nametoindex(host.c_str()) != 0) {
        auto found = of_interfaces(host, port);
        if (found.empty()) return Error(Errc::bad_address, "that interface is down or has no address", host);
        return found;
    }
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); failed != 0) {
        return Error(Errc::bad_address, "no host or interface of that name", host + ": " + ::gai_strerror(failed));
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
    std::vector<SocketAddress> found;
    for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
        if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6) {
            add(found, SocketAddress(entry->ai_addr), port);
        }
    }
    if (found.empty()) return Error(Errc::bad_address, "that host has no IPv4 or IPv6 address", host);
    return found;
}

// "r0:5000" of verbs://rxe0/r0:5000
Result<std::uint16_t> port_of_path(std::string_view path, std::string& interface) {
    const auto colon = path.rfind(':');
    interface = path.substr(0, colon);
    if (colon == std::string_view::npos) return std::uint16_t{0};
    std::uint16_t port = 0;
    const char* const end = path.data() + path.size();
    const auto [read, wrong] = std::from_chars(path.data() + colon + 1, end, port);
    if (wrong != std::errc() || read != end) {
        return Error(Errc::bad_address, "verbs://DEVICE/INTERFACE:PORT is what a device is named by",
                     std::string(path));
    }
    return port;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* from) noexcept : v6_{} {
    if (from->sa_family == AF_INET) std::memcpy(&v4_, from, sizeof v4_);
    if (from->sa_family == AF_INET6) std::memcpy(&v6_, from, sizeof v6_);
}

bool SocketAddress::is_loopback() const noexcept {
    return family() == AF_INET ? (ntohl(v4_.sin_addr.s_addr) >> 24) == 127 : IN6_IS_ADDR_LOOPBACK(&v6_.sin6_addr) != 0;
}

bool SocketAddress::same_host(const SocketAddress& other) const noexcept {
    if (family() != other.family()) return false;
    if (family() == AF_INET) return v4_.sin_addr.s_addr == other.v4_.sin_addr.s_addr;
    return std::memcmp(&v6_.sin6_addr, &other.v6_.sin6_addr, sizeof v6_.sin6_addr) == 0;
}

std::string SocketAddress::host() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* from = family() == AF_INET ? static_cast<const void*>(&v4_.sin_addr) : &v6_.sin6_addr;
    (void)::inet_ntop(family(), from, text.data(), text.size());
    return text.data();
}

std::string SocketAddress::endpoint() const {
    const std::string text = family() == AF_INET ? host() : "[" + host() + "]";
    return "verbs://" + text + ":" + std::to_string(port());
}

Result<Wish> wish_of(const na::Uri& uri, const std::vector<std::string>& devices) {
    Wish wish;
    std::uint16_t port = uri.port.value_or(0);
    const bool names_device = std::find(devices.begin(), devices.end(), uri.host) != devices.end();
    if (uri.host.empty() || (names_device && uri.path.empty())) {
        wish.device = uri.host;
        wish.addresses = of_interfaces({}, port);
        return wish;
    }
    if (!uri.path.empty()) {
        std::string interface;
        CINNABAR_TRY(port, port_of_path(uri.path, interface));
        wish.device = uri.host;
        wish.addresses = of_interfaces(interface, port);
        if (wish.addresses.empty()) {
            return Error(Errc::bad_address, "no such interface, or it is down or has no address", interface);
        }
        return wish;
    }
    CINNABAR_TRY(wish.addresses, of_host(uri.host, port));
    return wish;
}

Result<std::vector<SocketAddress>> resolve_peer(const na::Uri& uri) {
    if (uri.host.empty() || uri.port.value_or(0) == 0) {
        return Error(Errc::bad_address, "a verbs address to dial needs a host and a port", uri.to_string());
    }
    return of_host(uri.host, *uri.port);
}

}  // namespace cinnabar::verbs
