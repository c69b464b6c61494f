// SPDX-License-Identifier: BSD-3-Clause
// Converts address strings to socket addresses and back: host names, IPv4, IPv6 in brackets, names of interfaces.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/uri.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::na {

// An IPv4 or IPv6 address with a port. A value. IPv4-mapped IPv6 addresses are converted to IPv4.
class CINNABAR_API SocketAddress {
  public:
    SocketAddress() noexcept : v6_{} {}
    explicit SocketAddress(const sockaddr* from) noexcept;
    [[nodiscard]] static SocketAddress any_v6(std::uint16_t port) noexcept;
    [[nodiscard]] static SocketAddress any_v4(std::uint16_t port) noexcept;
    [[nodiscard]] static SocketAddress peer_of(int fd) noexcept;
    [[nodiscard]] static SocketAddress local_of(int fd) noexcept;

    [[nodiscard]] int family() const noexcept { return v4_.sin_family; }
    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&v6_); }
    [[nodiscard]] socklen_t bytes() const noexcept {
        return family() == AF_INET ? socklen_t{sizeof v4_} : socklen_t{sizeof v6_};
    }
    [[nodiscard]] std::uint16_t port() const noexcept { return ntohs(v4_.sin_port); }
    void set_port(std::uint16_t port) noexcept { v4_.sin_port = htons(port); }
    [[nodiscard]] bool is_any() const noexcept;
    [[nodiscard]] bool is_loopback() const noexcept;
    [[nodiscard]] bool same_host(const SocketAddress& other) const noexcept;
    friend bool operator==(const SocketAddress& a, const SocketAddress& b) noexcept {
        return a.same_host(b) && a.port() == b.port();
    }

    // "127.0.0.1", "::1"
    [[nodiscard]] std::string host() const;
    // "tcp://127.0.0.1:5000", "tcp://[::1]:5000"
    [[nodiscard]] std::string endpoint(std::string_view scheme) const;
    // As endpoint(), but "a peer" if out of memory.
    [[nodiscard]] std::string log_name(std::string_view scheme) const noexcept;

  private:
    union {  // both structs begin with family and port
        sockaddr_in v4_;
        sockaddr_in6 v6_;
    };
};

enum class Purpose : std::uint8_t { dial, listen };

// Returns all addresses that the uri stands for, best first, at most 8. An empty host means the loopback to dial, and
// all interfaces to listen. bad_address: no such host or interface, or no port to dial. Blocks while a name server is
// asked: never call this function on a thread that drives a context (resolver.hpp does not block).
[[nodiscard]] CINNABAR_API Result<std::vector<SocketAddress>> resolve(const Uri& uri, Purpose purpose);

// As resolve(), for hosts that need no name server: numeric addresses, interfaces, an empty host, and, to dial,
// "localhost", which means the loopback. Empty for any other host name.
[[nodiscard]] CINNABAR_API std::optional<Result<std::vector<SocketAddress>>> resolve_at_once(const Uri& uri,
                                                                                             Purpose purpose);

// The addresses of a host name, without a port. bad_address. Blocks.
[[nodiscard]] CINNABAR_API Result<std::vector<SocketAddress>> look_host_up(const std::string& name);

// Returns the addresses of the interface `name`, or of all interfaces if `name` is empty: only interfaces that are up,
// IPv4 first, without link-local IPv6.
[[nodiscard]] CINNABAR_API std::vector<SocketAddress> interface_addresses(std::string_view name, std::uint16_t port);

// Returns the endpoints at which others reach a socket that is bound to `bound`: that address, or, if `bound` means all
// interfaces, the addresses of the interfaces that are up (the loopback only if there is no other).
[[nodiscard]] CINNABAR_API std::vector<std::string> reachable_endpoints(const SocketAddress& bound,
                                                                        std::string_view scheme);

}  // namespace cinnabar::na
