// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers that are dialled by TCP sockets.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <utility>
#include <vector>

namespace cinnabar::na {

// Where a peer is dialled.
struct Places {
    std::vector<SocketAddress> known;  // the peer's own order of preference
    std::vector<Uri> names;            // endpoints whose hosts a dial looks up, each time, when none of those answers
};

// Of the endpoints of an address. unreachable: it has none that the transport reaches; bad_address: an interface that
// is down, or a port is missing. Asks no name server, and never blocks.
[[nodiscard]] CINNABAR_API Result<Places> places_of(const AddrBody& body, const Transport& transport);

// SessionPeer::place of who is dialled at these places.
[[nodiscard]] CINNABAR_API std::string place_of(const Places& places, const AddrBody& wanted);

// Port::peer: one that is known by that address or place, or what `make(places)` makes.
template <typename P, typename Make>
[[nodiscard]] Result<Peer*> peer_of(PeersOf<P>& peers, const Addr& addr, const Transport& transport, Make&& make) {
    if (P* known = peers.find(addr)) return known;
    const AddrBody& body = addr.body();
    if (body.endpoints.empty()) return PeerTable::unlisted(addr);
    CINNABAR_TRY(Places places, places_of(body, transport));
    if (P* known = peers.find_place(place_of(places, body))) {
        peers.add_name(*known, addr);
        return known;
    }
    return &peers.add(std::forward<Make>(make)(std::move(places)));
}

}  // namespace cinnabar::na
