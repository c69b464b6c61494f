// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers.
#include "port.hpp"

#include <cinnabar/na/session/places.hpp>

namespace cinnabar::verbs {
Result<na::Peer*> VerbsPort::peer(const na::Addr& addr) {
    return na::peer_of(peers_, addr, transport_,
                       [&](na::Places places) { return std::make_unique<VerbsPeer>(*this, addr, std::move(places)); });
}

void VerbsPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<VerbsPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

}  // namespace cinnabar::verbs
