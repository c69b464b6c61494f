// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers.
#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

// Where the endpoints of an address can be dialled, the peer's own order of preference first.
Result<std::vector<SocketAddress>> places_of(const na::AddrBody& body, const na::Transport& transport) {
    std::vector<SocketAddress> places;
    Error failure(Errc::unreachable, "the address has no tcp endpoint");
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        auto uri = na::Uri::parse(endpoint);
        if (!uri) return std::move(uri).error();
        auto found = resolve(*uri, Purpose::dial);
        if (!found) {
            failure = std::move(found).error();
            continue;
        }
        for (const SocketAddress& place : *found) {
            if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
        }
    }
    if (places.empty()) return failure;
    return places;
}

}  // namespace

Result<na::Peer*> TcpPort::peer(const na::Addr& addr) {
    if (TcpPeer* known = peers_.find(addr)) return known;
    const na::AddrBody& body = addr.body();
    if (body.incarnation != 0) {
        if (TcpPeer* known = peers_.find(Identity{body.incarnation, body.context})) {
            if (!body.endpoints.empty() && known->candidates.empty() && !known->lane) {
                // Gone, and it cannot be dialled; this address can.
            } else {
                peers_.add_name(*known, addr);
                return known;
            }
        }
    }
    if (body.endpoints.empty()) {
        return Error(Errc::unreachable, "a peer that does not listen is reached over its own session, which is gone",
                     addr.to_string());
    }
    CINNABAR_TRY(std::vector<SocketAddress> places, places_of(body, transport_));
    if (TcpPeer* known = peers_.find_place(TcpPeer::place_of(places, addr))) {
        peers_.add_name(*known, addr);
        return known;
    }
    return &peers_.add(std::make_unique<TcpPeer>(*this, addr, std::move(places)));
}

void TcpPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<TcpPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

}  // namespace cinnabar::tcp
