// SPDX-License-Identifier: BSD-3-Clause
// From address strings to socket addresses. RDMA devices are found by the address of their interface.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/uri.hpp>

#include <string>
#include <vector>

namespace cinnabar::verbs {

using na::SocketAddress;

// rdma_cm takes addresses that it does not write to by a plain pointer.
[[nodiscard]] inline sockaddr* plain(const SocketAddress& address) noexcept {
    return const_cast<sockaddr*>(address.get());
}

// What an address string asks for, where this side is meant.
struct Wish {
    std::string device;                    // empty: any
    std::vector<SocketAddress> addresses;  // best first; their ports are that of the string, or 0
};

// `devices`: the names of this machine's RDMA devices. bad_address: no such host or interface.
[[nodiscard]] Result<Wish> wish_of(const na::Uri& uri, const std::vector<std::string>& devices);

}  // namespace cinnabar::verbs
