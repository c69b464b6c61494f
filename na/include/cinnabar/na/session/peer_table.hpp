// SPDX-License-Identifier: BSD-3-Clause
// The peers of a port, found by address handle or by where they are dialled, never by a claimed identity. So a
// simultaneous connect makes two peers. Peers that are not in use are destroyed after a while. Owner of the context
// only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/peer.hpp>

#include <memory>
#include <string_view>
#include <unordered_map>

namespace cinnabar::na {

class CINNABAR_API PeerTable {
  public:
    // The host is told before a peer is destroyed.
    explicit PeerTable(PortHost& host) noexcept : host_(host) {}
    ~PeerTable();
    PeerTable(const PeerTable&) = delete;
    PeerTable& operator=(const PeerTable&) = delete;

    // Makes the SessionPeer::dial_key of a peer that is dialled at `target`, with the context and incarnation that the
    // address asks for, over the connection that the address names (Addr::in_parallel).
    [[nodiscard]] static std::string dial_key(std::string_view target, const AddrBody& wanted);

    // The error for an address that has no endpoints and belongs to no peer.
    [[nodiscard]] static Error unlisted(const Addr& addr);

    [[nodiscard]] SessionPeer* find(const Addr& addr) const noexcept;
    [[nodiscard]] SessionPeer* find_dial_key(const std::string& key) const noexcept;
    template <typename F>
    void each(F&& visit) const noexcept {
        for (SessionPeer* peer = all_.front(); peer; peer = All::next(*peer)) visit(*peer);
    }

    // If one of these throws bad_alloc, the table is unchanged.
    void add(std::unique_ptr<SessionPeer> peer);
    // If the peer has too many names, the oldest is forgotten; its next use adds it again.
    void add_name(SessionPeer& peer, const Addr& addr);
    // Call when the peer is no longer in use. A peer that can be dialled is kept for a while, because it counts failed
    // dials.
    void spare(SessionPeer& peer) noexcept;
    // Destroys all but a few of the spare peers that are still not in use. Must not be called from a function of such a
    // peer.
    void forget_spares() noexcept {
        if (spares_changed_) forget_spares_now();
    }
    void remove_all() noexcept;

  private:
    using All = IntrusiveList<SessionPeer, &SessionPeer::all_link>;

    void forget_spares_now() noexcept;
    void destroy(SessionPeer& peer) noexcept;
    void forget(const SessionPeer& peer, const Addr& name) noexcept;

    PortHost& host_;
    All all_;
    std::unordered_map<const AddrBody*, SessionPeer*> by_addr_;
    std::unordered_multimap<std::string, SessionPeer*> by_dial_key_;
    IntrusiveList<SessionPeer, &SessionPeer::spare_link> spares_;
    std::size_t spares_count_ = 0;
    bool spares_changed_ = false;
};

}  // namespace cinnabar::na
