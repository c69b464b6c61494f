// SPDX-License-Identifier: BSD-3-Clause
#include "peer_shortcuts.hpp"

namespace cinnabar::na {

void PeerShortcuts::add(const Addr& addr, Peer& peer) noexcept {
    if (ordinal_ >= AddrBody::shortcuts) return;
    if (peer.addr() != addr) {
        OtherName& name = other_names_[next_++ % other_names_.size()];
        if (name.peer) clear(name.addr, *name.peer);
        name = {addr, &peer};
    }
    addr.body().peers[ordinal_] = &peer;
}

void PeerShortcuts::remove(const Peer& peer) noexcept {
    clear(peer.addr(), peer);
    for (OtherName& name : other_names_) {
        if (name.peer != &peer) continue;
        clear(name.addr, peer);
        name = {};
    }
}

void PeerShortcuts::clear(const Addr& addr, const Peer& peer) const noexcept {
    if (ordinal_ >= AddrBody::shortcuts || addr.empty()) return;
    Peer*& shortcut = addr.body().peers[ordinal_];
    if (shortcut == &peer) shortcut = nullptr;
}

}  // namespace cinnabar::na
