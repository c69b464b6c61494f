// SPDX-License-Identifier: BSD-3-Clause
// A port's peers, found by address handle, by who they are, and by where they were dialled. Owner of the context only.
#pragma once

#include "peer.hpp"

#include <map>
#include <memory>
#include <unordered_map>

namespace cinnabar::tcp {

class PeerTable {
  public:
    using All = IntrusiveList<TcpPeer, &TcpPeer::all_link>;

    PeerTable() = default;
    ~PeerTable();
    PeerTable(const PeerTable&) = delete;
    PeerTable& operator=(const PeerTable&) = delete;

    [[nodiscard]] TcpPeer* find(const na::Addr& addr) const noexcept;
    // The one that was dialled, or would be, at the same place with the same demands.
    [[nodiscard]] TcpPeer* find_place(const SocketAddress& place, const na::AddrBody& wanted) const noexcept;
    // The best of those that are, or last were, that context of that process: connected before dialled before idle.
    [[nodiscard]] TcpPeer* find(const Identity& identity) const noexcept;

    void add(std::unique_ptr<TcpPeer> peer);
    void add_name(TcpPeer& peer, const na::Addr& addr);
    // Its session told who it is.
    void identify(TcpPeer& peer, const Identity& identity);
    void remove(TcpPeer& peer) noexcept;

    [[nodiscard]] const All& all() const noexcept { return all_; }
    template <typename F>
    void each_of(const Identity& identity, F&& visit) {
        const auto [begin, end] = by_identity_.equal_range(identity);
        for (auto at = begin; at != end; ++at) visit(*at->second);
    }

  private:
    void forget_identity(TcpPeer& peer) noexcept;

    All all_;
    std::unordered_map<const na::AddrBody*, TcpPeer*> by_addr_;
    std::multimap<Identity, TcpPeer*> by_identity_;
    std::unordered_multimap<std::string, TcpPeer*> by_place_;
};

}  // namespace cinnabar::tcp
