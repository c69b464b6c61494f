// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/peer_table.hpp>

namespace cinnabar::na {
namespace {

constexpr std::size_t spares_max = 256;
// Limited, because peers can make up names: a descriptor that they send names the owner of the memory.
constexpr std::size_t names_max = 64;

// Removes the entry of `peer` from a multimap.
template <typename Map, typename Key>
void erase_one(Map& map, const Key& key, const SessionPeer& peer) noexcept {
    const auto [begin, end] = map.equal_range(key);
    for (auto at = begin; at != end; ++at) {
        if (at->second != &peer) continue;
        map.erase(at);
        return;
    }
}

}  // namespace

PeerTable::~PeerTable() { CINNABAR_ASSERT(all_.empty()); }

std::string PeerTable::dial_key(std::string_view target, const AddrBody& wanted) {
    const std::string context = wanted.names_context ? std::to_string(wanted.context) : "any";
    const std::string parallel = wanted.parallel == 0 ? "" : '/' + std::to_string(wanted.parallel);
    return std::string(target) + '/' + context + '/' + std::to_string(wanted.incarnation) + parallel;
}

Error PeerTable::unlisted(const Addr& addr) {
    return Error(Errc::unreachable, "that peer does not listen, and the connection that it made has ended",
                 addr.to_string());
}

SessionPeer* PeerTable::find(const Addr& addr) const noexcept {
    const auto found = by_addr_.find(&addr.body());
    return found == by_addr_.end() ? nullptr : found->second;
}

SessionPeer* PeerTable::find_dial_key(const std::string& key) const noexcept {
    const auto found = by_dial_key_.find(key);
    return found == by_dial_key_.end() ? nullptr : found->second;
}

void PeerTable::add(std::unique_ptr<SessionPeer> peer) {
    const auto [at, added] = by_addr_.emplace(&peer->addr().body(), peer.get());
    try {
        if (peer->can_be_dialled()) by_dial_key_.emplace(peer->dial_key, peer.get());
    } catch (...) {
        if (added) by_addr_.erase(at);
        throw;
    }
    all_.push_back(*peer.release());
}

void PeerTable::add_name(SessionPeer& peer, const Addr& addr) {
    if (by_addr_.contains(&addr.body())) return;
    peer.names.push_back(addr);
    try {
        by_addr_.emplace(&addr.body(), &peer);
    } catch (...) {
        peer.names.pop_back();
        throw;
    }
    if (peer.names.size() <= names_max) return;
    forget(peer, peer.names.front());
    peer.names.erase(peer.names.begin());
}

void PeerTable::forget(const SessionPeer& peer, const Addr& name) noexcept {
    if (const auto at = by_addr_.find(&name.body()); at != by_addr_.end() && at->second == &peer) by_addr_.erase(at);
}

void PeerTable::spare(SessionPeer& peer) noexcept {
    if (decltype(spares_)::linked(peer)) return;
    spares_.push_back(peer);
    ++spares_count_;
    spares_changed_ = true;
}

void PeerTable::forget_spares_now() noexcept {
    spares_changed_ = false;
    for (SessionPeer* peer = spares_.front(); peer;) {
        SessionPeer& now = *std::exchange(peer, decltype(spares_)::next(*peer));
        if (!now.in_use() && now.can_be_dialled() && spares_count_ <= spares_max) continue;
        if (!now.in_use()) {
            destroy(now);
            continue;
        }
        spares_.remove(now);
        --spares_count_;
    }
}

void PeerTable::remove_all() noexcept {
    while (SessionPeer* peer = all_.front()) destroy(*peer);
}

void PeerTable::destroy(SessionPeer& peer) noexcept {
    if (decltype(spares_)::linked(peer)) {
        spares_.remove(peer);
        --spares_count_;
    }
    host_.peer_gone(peer);
    if (peer.can_be_dialled()) erase_one(by_dial_key_, peer.dial_key, peer);
    forget(peer, peer.addr());
    for (const Addr& name : peer.names) forget(peer, name);
    all_.remove(peer);
    delete &peer;
}

}  // namespace cinnabar::na
