// SPDX-License-Identifier: BSD-3-Clause
// Converts the endpoints of an address to the socket addresses that a peer is dialled at.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/session_port.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <utility>
#include <vector>

namespace cinnabar::na {

// Where a peer is dialled; empty for a peer that was accepted.
struct DialTargets {
    std::vector<SocketAddress> known;  // in the peer's own order of preference
    std::vector<Uri> names;            // endpoints with host names: looked up by each dial if none of `known` answers
};

// Finds where to dial the peer of an address. Asks no name server and never blocks. unreachable: the address has no
// endpoint that the transport reaches; bad_address: an interface is down or a port is missing.
[[nodiscard]] CINNABAR_API Result<DialTargets> dial_targets(const AddrBody& body, const Transport& transport);

// Makes the value of SessionPeer::dial_key.
[[nodiscard]] CINNABAR_API std::string dial_key_of(const DialTargets& targets, const AddrBody& wanted);

class SocketPeer : public SessionPeer {
  public:
    SocketPeer(SessionPort& port, const Addr& addr, const Transport& transport, DialTargets dialled_at)
        : SessionPeer(port, addr, transport, port.host(), dial_key_of(dialled_at, addr.body())),
          targets(std::move(dialled_at)) {}

    const DialTargets targets;
};

// Implements SessionPort::make_peer for a transport whose peers have the class P.
template <typename P, typename OwnPort>
[[nodiscard]] Result<std::unique_ptr<SessionPeer>> make_socket_peer(OwnPort& port, const Addr& addr) {
    CINNABAR_TRY(DialTargets targets, dial_targets(addr.body(), port.transport()));
    return std::unique_ptr<SessionPeer>(std::make_unique<P>(port, addr, port.transport(), std::move(targets)));
}

}  // namespace cinnabar::na
