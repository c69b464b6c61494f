// SPDX-License-Identifier: BSD-3-Clause
// A port's peers, found by address handle and by where they are dialled, never by who they claim to be; and those that
// nobody uses, which are forgotten after a while. Owner of the context only.
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

    // SessionPeer::place of who is dialled there with the same demands.
    [[nodiscard]] static std::string place_of(std::string_view where, const AddrBody& wanted);

    // Of an address without endpoints that no peer has.
    [[nodiscard]] static Error unlisted(const Addr& addr);

    void add_name(SessionPeer& peer, const Addr& addr);
    // It is not in use. One that can be dialled stays for a while: it knows how often dialling failed.
    void spare(SessionPeer& peer) noexcept;
    // Destroys spare peers that are not in use still, but for a number. Never while one of them is on the stack.
    void forget_spares() noexcept;
    [[nodiscard]] bool spares_changed() const noexcept { return spares_changed_; }
    void remove_all() noexcept;

  protected:
    using All = IntrusiveList<SessionPeer, &SessionPeer::all_link>;

    [[nodiscard]] SessionPeer* at(const Addr& addr) const noexcept;
    [[nodiscard]] SessionPeer* at_place(const std::string& place) const noexcept;
    void insert(std::unique_ptr<SessionPeer> peer);

    All all_;

  private:
    void destroy(SessionPeer& peer) noexcept;

    PortHost& host_;
    std::unordered_map<const AddrBody*, SessionPeer*> by_addr_;
    std::unordered_multimap<std::string, SessionPeer*> by_place_;
    IntrusiveList<SessionPeer, &SessionPeer::spare_link> spares_;
    std::size_t spares_count_ = 0;
    bool spares_changed_ = false;
};

// The table of a transport whose peers are of the class P.
template <typename P>
class PeersOf final : public PeerTable {
  public:
    using PeerTable::PeerTable;

    [[nodiscard]] P* find(const Addr& addr) const noexcept { return cast(at(addr)); }
    [[nodiscard]] P* find_place(const std::string& place) const noexcept { return cast(at_place(place)); }
    template <typename Predicate>
    [[nodiscard]] P* find_if(Predicate&& fits) const noexcept {
        for (SessionPeer* peer = all_.front(); peer; peer = All::next(*peer)) {
            if (fits(*cast(peer))) return cast(peer);
        }
        return nullptr;
    }

    template <typename F>
    void each(F&& visit) const noexcept {
        for (SessionPeer* peer = all_.front(); peer; peer = All::next(*peer)) visit(*cast(peer));
    }

    P& add(std::unique_ptr<P> peer) {
        P& added = *peer;
        insert(std::move(peer));
        return added;
    }

  private:
    [[nodiscard]] static P* cast(SessionPeer* peer) noexcept { return static_cast<P*>(peer); }
};

}  // namespace cinnabar::na
