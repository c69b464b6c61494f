// SPDX-License-Identifier: BSD-3-Clause
#include "peer_shortcuts.hpp"

namespace cinnabar::na {

void PeerShortcuts::add(const Addr& addr, Peer& peer) noexcept {
    if (!are_in_addresses()) {
        names_[place(addr)] = {addr, &peer};
        return;
    }
    if (peer.addr() != addr) {
        Name& name = names_[next_++ % names_max];
        if (name.peer) clear(name.addr, *name.peer);
        name = {addr, &peer};
    }
    addr.body().peers[ordinal_] = &peer;
}

void PeerShortcuts::remove(const Peer& peer) noexcept {
    clear(peer.addr(), peer);
    for (Name& name : names_) {
        if (name.peer != &peer) continue;
        clear(name.addr, peer);
        name = {};
    }
}

void PeerShortcuts::clear(const Addr& addr, const Peer& peer) const noexcept {
    if (!are_in_addresses() || addr.empty()) return;
    Peer*& shortcut = addr.body().peers[ordinal_];
    if (shortcut == &peer) shortcut = nullptr;
}

}  // namespace cinnabar::na
