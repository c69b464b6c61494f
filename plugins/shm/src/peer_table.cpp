// SPDX-License-Identifier: BSD-3-Clause
#include "peer_table.hpp"

#include <cinnabar/base/assert.hpp>

namespace cinnabar::shm {
namespace {

// Which peers are the same if they are dialled at the same place.
std::string place_key(const ListeningPlace& place, const na::AddrBody& wanted) {
    return place.path + '/' + std::to_string(wanted.context) + '/' + std::to_string(wanted.incarnation);
}

int worth(const ShmPeer& peer) noexcept {
    if (peer.session) return 2;
    return peer.dial ? 1 : 0;
}

}  // namespace

PeerTable::~PeerTable() { CINNABAR_ASSERT(all_.empty()); }

ShmPeer* PeerTable::find(const na::Addr& addr) const noexcept {
    const auto at = by_addr_.find(&addr.body());
    return at == by_addr_.end() ? nullptr : at->second;
}

ShmPeer* PeerTable::find_place(const ListeningPlace& place, const na::AddrBody& wanted) const noexcept {
    const auto at = by_place_.find(place_key(place, wanted));
    return at == by_place_.end() ? nullptr : at->second;
}

ShmPeer* PeerTable::find(const Identity& identity) const noexcept {
    ShmPeer* best = nullptr;
    const auto [begin, end] = by_identity_.equal_range(identity);
    for (auto at = begin; at != end; ++at) {
        if (!best || worth(*at->second) > worth(*best)) best = at->second;
    }
    return best;
}

void PeerTable::add(std::unique_ptr<ShmPeer> peer) {
    if (peer->can_be_dialled()) {
        by_place_.emplace(place_key(peer->place, peer->addr().body()), peer.get());
    }
    by_addr_.emplace(&peer->addr().body(), peer.get());
    all_.push_back(*peer.release());
}

void PeerTable::add_name(ShmPeer& peer, const na::Addr& addr) {
    if (!by_addr_.emplace(&addr.body(), &peer).second) return;
    peer.names.push_back(addr);
}

void PeerTable::identify(ShmPeer& peer, const Identity& identity) {
    forget_identity(peer);
    by_identity_.emplace(identity, &peer);
}

void PeerTable::forget_identity(ShmPeer& peer) noexcept {
    const auto [begin, end] = by_identity_.equal_range(peer.identity);
    for (auto at = begin; at != end; ++at) {
        if (at->second != &peer) continue;
        by_identity_.erase(at);
        return;
    }
}

void PeerTable::remove(ShmPeer& peer) noexcept {
    forget_identity(peer);
    if (peer.can_be_dialled()) {
        const auto [begin, end] = by_place_.equal_range(place_key(peer.place, peer.addr().body()));
        for (auto at = begin; at != end; ++at) {
            if (at->second != &peer) continue;
            by_place_.erase(at);
            break;
        }
    }
    std::vector<na::Addr> names = std::move(peer.names);
    names.push_back(peer.addr());
    for (const na::Addr& name : names) {
        if (const auto at = by_addr_.find(&name.body()); at != by_addr_.end() && at->second == &peer)
            by_addr_.erase(at);
    }
    all_.remove(peer);
    delete &peer;
}

}  // namespace cinnabar::shm
