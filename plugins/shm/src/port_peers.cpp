// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers.
#include "port.hpp"

namespace cinnabar::shm {
namespace {

// Where the first endpoint of an address that is ours can be dialled.
Result<ListeningPlace> place_of(const na::AddrBody& body, const na::Transport& transport) {
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        CINNABAR_TRY(const na::Uri uri, na::Uri::parse(endpoint));
        if (uri.port || !good_name(uri.host)) {
            return Error(Errc::bad_address, "a peer in shared memory has a name: shm://NAME", endpoint);
        }
        CINNABAR_TRY(Audience audience, Audience::of_known(uri));
        const auto group = audience.group;
        return ListeningPlace{uri.host, Directory(std::move(audience)).socket_path(uri.host), group};
    }
    return Error(Errc::unreachable, "the address has no shm endpoint");
}

}  // namespace

Result<na::Peer*> ShmPort::peer(const na::Addr& addr) {
    if (ShmPeer* known = peers_.find(addr)) return known;
    const na::AddrBody& body = addr.body();
    if (body.endpoints.empty()) return na::PeerTable::unlisted(addr);
    CINNABAR_TRY(ListeningPlace place, place_of(body, transport_));
    if (ShmPeer* known = peers_.find_place(ShmPeer::place_of(place, addr))) {
        peers_.add_name(*known, addr);
        return known;
    }
    return &peers_.add(std::make_unique<ShmPeer>(*this, addr, std::move(place)));
}

void ShmPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<ShmPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

}  // namespace cinnabar::shm
