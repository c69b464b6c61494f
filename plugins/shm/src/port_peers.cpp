// SPDX-License-Identifier: BSD-3-Clause
// From addresses to peers, and how peers that nobody uses are forgotten.
#include "port.hpp"

namespace cinnabar::shm {
namespace {

// Peers that were dialled once and are not in use: kept for a while, because they know how often dialling failed.
constexpr std::size_t spares_max = 256;

// Where the first endpoint of an address that is ours can be dialled.
Result<ListeningPlace> place_of(const na::AddrBody& body, const na::Transport& transport) {
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        CINNABAR_TRY(const na::Uri uri, na::Uri::parse(endpoint));
        if (uri.port || !good_name(uri.host)) {
            return Error(Errc::bad_address, "a peer in shared memory has a name: shm://NAME", endpoint);
        }
        CINNABAR_TRY(Audience audience, Audience::of(uri));
        return ListeningPlace{uri.host, Directory(std::move(audience)).socket_path(uri.host)};
    }
    return Error(Errc::unreachable, "the address has no shm endpoint");
}

}  // namespace

Result<na::Peer*> ShmPort::peer(const na::Addr& addr) {
    if (ShmPeer* known = peers_.find(addr)) return known;
    const na::AddrBody& body = addr.body();
    if (body.incarnation != 0) {
        ShmPeer* known = peers_.find(Identity{body.incarnation, body.context});
        // One that is gone and cannot be dialled gives way to an address that can.
        if (known && (body.endpoints.empty() || known->can_be_dialled() || known->session)) {
            peers_.add_name(*known, addr);
            return known;
        }
    }
    if (body.endpoints.empty()) {
        return Error(Errc::unreachable, "a peer that does not listen is reached over its own session, which is gone",
                     addr.to_string());
    }
    CINNABAR_TRY(ListeningPlace place, place_of(body, transport_));
    if (ShmPeer* known = peers_.find_place(place, body)) {
        peers_.add_name(*known, addr);
        return known;
    }
    auto made = std::make_unique<ShmPeer>(*this, addr, std::move(place));
    ShmPeer* peer = made.get();
    peers_.add(std::move(made));
    return peer;
}

void ShmPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<ShmPeer&>(peer);
    if (closed_ || own.in_use() || decltype(spares_)::linked(own)) return;
    spares_.push_back(own);
    ++spares_count_;
    spares_changed_ = true;
}

void ShmPort::forget_spares() noexcept {
    spares_changed_ = false;
    for (ShmPeer* peer = spares_.front(); peer;) {
        ShmPeer& now = *std::exchange(peer, decltype(spares_)::next(*peer));
        const bool keep = !now.in_use() && now.can_be_dialled() && spares_count_ <= spares_max;
        if (keep) continue;
        spares_.remove(now);
        --spares_count_;
        if (!now.in_use()) destroy(now);
    }
}

void ShmPort::destroy(ShmPeer& peer) noexcept {
    if (decltype(spares_)::linked(peer)) {
        spares_.remove(peer);
        --spares_count_;
    }
    host_.peer_gone(peer);
    peers_.remove(peer);
}

}  // namespace cinnabar::shm
