// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers.
#include "port.hpp"

#include <cinnabar/na/session/places.hpp>

namespace cinnabar::tcp {

Result<na::Peer*> TcpPort::peer(const na::Addr& addr) {
    return na::peer_of(peers_, addr, transport_,
                       [&](na::Places places) { return std::make_unique<TcpPeer>(*this, addr, std::move(places)); });
}

void TcpPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<TcpPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

}  // namespace cinnabar::tcp
