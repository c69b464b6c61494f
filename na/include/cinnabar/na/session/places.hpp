// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers that are dialled by TCP sockets.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <utility>
#include <vector>

namespace cinnabar::na {

// Where the endpoints of an address can be dialled, the peer's own order of preference first. unreachable: it has none
// that the transport reaches; bad_address: a host does not resolve. May block while a name is looked up.
[[nodiscard]] CINNABAR_API Result<std::vector<SocketAddress>> places_of(const AddrBody& body,
                                                                        const Transport& transport);

// SessionPeer::place of who is dialled at these places.
[[nodiscard]] CINNABAR_API std::string place_of(const std::vector<SocketAddress>& places, const AddrBody& wanted);

// Port::peer: one that is known by that address, identity or place, or what `make(places)` makes.
template <typename P, typename Make>
[[nodiscard]] Result<Peer*> peer_of(PeersOf<P>& peers, const Addr& addr, const Transport& transport, Make&& make) {
    if (P* known = peers.find(addr)) return known;
    const AddrBody& body = addr.body();
    if (body.incarnation != 0) {
        P* known = peers.find(Identity{body.incarnation, body.context});
        // Not one that is gone and cannot be dialled, while this address can.
        if (known && (body.endpoints.empty() || known->can_be_dialled() || known->state() == PeerState::connected)) {
            peers.add_name(*known, addr);
            return known;
        }
    }
    if (body.endpoints.empty()) {
        return Error(Errc::unreachable, "a peer that does not listen is reached over its own session, which is gone",
                     addr.to_string());
    }
    CINNABAR_TRY(std::vector<SocketAddress> places, places_of(body, transport));
    if (P* known = peers.find_place(place_of(places, body))) {
        peers.add_name(*known, addr);
        return known;
    }
    return &peers.add(std::forward<Make>(make)(std::move(places)));
}

}  // namespace cinnabar::na
