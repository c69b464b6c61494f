// SPDX-License-Identifier: BSD-3-Clause
// A port's peers, found by address handle and by where they are dialled, never by the identity that they claim; and
// those that are not in use, which are forgotten after a while. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/peer.hpp>

#include <memory>
#include <string_view>
#include <unordered_map>

namespace cinnabar::na {

class CINNABAR_API PeerTable {
  public:
    // The host is told of each peer that goes.
    explicit PeerTable(PortHost& host) noexcept : host_(host) {}
    ~PeerTable();
    PeerTable(const PeerTable&) = delete;
    PeerTable& operator=(const PeerTable&) = delete;

    // SessionPeer::dial_key of a peer that is dialled at `target` with the demands of the address.
    [[nodiscard]] static std::string dial_key(std::string_view target, const AddrBody& wanted);

    // Of an address without endpoints that no peer has.
    [[nodiscard]] static Error unlisted(const Addr& addr);

    [[nodiscard]] SessionPeer* find(const Addr& addr) const noexcept;
    [[nodiscard]] SessionPeer* find_dial_key(const std::string& key) const noexcept;
    template <typename F>
    void each(F&& visit) const noexcept {
        for (SessionPeer* peer = all_.front(); peer; peer = All::next(*peer)) visit(*peer);
    }

    // If one of these throws bad_alloc, nothing has changed.
    void add(std::unique_ptr<SessionPeer> peer);
    void add_name(SessionPeer& peer, const Addr& addr);
    // It is not in use. One that can be dialled stays for a while: it knows how often dialling failed.
    void spare(SessionPeer& peer) noexcept;
    // Destroys spare peers that are not in use still, but for a number. Never while one of them is on the stack.
    void forget_spares() noexcept {
        if (spares_changed_) forget_spares_now();
    }
    void remove_all() noexcept;

  private:
    using All = IntrusiveList<SessionPeer, &SessionPeer::all_link>;

    void forget_spares_now() noexcept;
    void destroy(SessionPeer& peer) noexcept;

    PortHost& host_;
    All all_;
    std::unordered_map<const AddrBody*, SessionPeer*> by_addr_;
    std::unordered_multimap<std::string, SessionPeer*> by_dial_key_;
    IntrusiveList<SessionPeer, &SessionPeer::spare_link> spares_;
    std::size_t spares_count_ = 0;
    bool spares_changed_ = false;
};

}  // namespace cinnabar::na
