// SPDX-License-Identifier: BSD-3-Clause
// Converts address strings to socket addresses. A device is found by the address of its interface.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/uri.hpp>

#include <string>
#include <vector>

namespace cinnabar::verbs {

using na::SocketAddress;

// rdma_cm takes non-const pointers to addresses, but does not write to them.
[[nodiscard]] inline sockaddr* plain(const SocketAddress& address) noexcept {
    return const_cast<sockaddr*>(address.get());
}

// The device and the socket addresses of this side that an address string asks for.
struct Wanted {
    std::string device;                    // empty: any
    std::vector<SocketAddress> addresses;  // best first, with the port of the string or 0
};

// `devices`: the names of this machine's RDMA devices. bad_address: no such host or interface.
[[nodiscard]] Result<Wanted> read_address(const na::Uri& uri, const std::vector<std::string>& devices);

}  // namespace cinnabar::verbs
