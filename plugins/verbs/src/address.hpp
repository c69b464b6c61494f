// SPDX-License-Identifier: BSD-3-Clause
// From address strings to socket addresses and back. RDMA devices are found by the address of their interface.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/uri.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::verbs {

// An IPv4 or IPv6 address with its port. A value.
class SocketAddress {
  public:
    SocketAddress() noexcept : v6_{} {}
    explicit SocketAddress(const sockaddr* from) noexcept;

    [[nodiscard]] int family() const noexcept { return v4_.sin_family; }
    // rdma_cm takes addresses that it does not write to by a plain pointer.
    [[nodiscard]] sockaddr* get() const noexcept {
        return const_cast<sockaddr*>(reinterpret_cast<const sockaddr*>(&v6_));
    }
    [[nodiscard]] std::uint16_t port() const noexcept { return ntohs(v4_.sin_port); }
    void set_port(std::uint16_t port) noexcept { v4_.sin_port = htons(port); }
    [[nodiscard]] bool is_loopback() const noexcept;
    [[nodiscard]] bool same_host(const SocketAddress& other) const noexcept;
    friend bool operator==(const SocketAddress& a, const SocketAddress& b) noexcept {
        return a.same_host(b) && a.port() == b.port();
    }
    // "10.0.0.1", "fe80::1"
    [[nodiscard]] std::string host() const;
    // "verbs://10.0.0.1:5000"
    [[nodiscard]] std::string endpoint() const;

  private:
    union {  // both begin with family and port
        sockaddr_in v4_;
        sockaddr_in6 v6_;
    };
};

// What an address string asks for, where this side is meant.
struct Wish {
    std::string device;                    // empty: any
    std::vector<SocketAddress> addresses;  // best first; their ports are that of the string, or 0
};

// `devices`: the names of this machine's RDMA devices. bad_address: no such host or interface.
[[nodiscard]] Result<Wish> wish_of(const na::Uri& uri, const std::vector<std::string>& devices);

// Where a peer can be dialled. bad_address: no such host, or no port. May block while a name is looked up.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve_peer(const na::Uri& uri);

}  // namespace cinnabar::verbs
