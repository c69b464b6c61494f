// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers.
#include "port.hpp"

#include <algorithm>

namespace cinnabar::verbs {
namespace {

// Where the endpoints of an address can be dialled, the peer's own order of preference first.
Result<std::vector<SocketAddress>> places_of(const na::AddrBody& body, const na::Transport& transport) {
    std::vector<SocketAddress> places;
    Error failure(Errc::unreachable, "the address has no verbs endpoint");
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        auto uri = na::Uri::parse(endpoint);
        if (!uri) return std::move(uri).error();
        auto found = resolve_peer(*uri);
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

Result<na::Peer*> VerbsPort::peer(const na::Addr& addr) {
    if (VerbsPeer* known = peers_.find(addr)) return known;
    const na::AddrBody& body = addr.body();
    if (body.incarnation != 0) {
        VerbsPeer* known = peers_.find(Identity{body.incarnation, body.context});
        // One that is gone and cannot be dialled is not meant by an address that can.
        const bool gone = known && !body.endpoints.empty() && known->candidates.empty() && !known->connection;
        if (known && !gone) {
            peers_.add_name(*known, addr);
            return known;
        }
    }
    if (body.endpoints.empty()) {
        return Error(Errc::unreachable, "a peer that does not listen is reached over its own session, which is gone",
                     addr.to_string());
    }
    CINNABAR_TRY(std::vector<SocketAddress> places, places_of(body, transport_));
    if (VerbsPeer* known = peers_.find_place(VerbsPeer::place_of(places, addr))) {
        peers_.add_name(*known, addr);
        return known;
    }
    return &peers_.add(std::make_unique<VerbsPeer>(*this, addr, std::move(places)));
}

void VerbsPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<VerbsPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

}  // namespace cinnabar::verbs
