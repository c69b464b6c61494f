// SPDX-License-Identifier: BSD-3-Clause
// A port's peers, found by address handle, by who they are, and by where they are dialled. Owner of the context only.
#pragma once

#include "peer.hpp"

#include <map>
#include <memory>
#include <unordered_map>

namespace cinnabar::shm {

class PeerTable {
  public:
    using All = IntrusiveList<ShmPeer, &ShmPeer::all_link>;

    PeerTable() = default;
    ~PeerTable();
    PeerTable(const PeerTable&) = delete;
    PeerTable& operator=(const PeerTable&) = delete;

    [[nodiscard]] ShmPeer* find(const na::Addr& addr) const noexcept;
    // The one that was dialled, or would be, at the same place with the same demands.
    [[nodiscard]] ShmPeer* find_place(const ListeningPlace& place, const na::AddrBody& wanted) const noexcept;
    // The best of those that are, or last were, that context of that process: connected before dialled before idle.
    [[nodiscard]] ShmPeer* find(const Identity& identity) const noexcept;

    void add(std::unique_ptr<ShmPeer> peer);
    void add_name(ShmPeer& peer, const na::Addr& addr);
    // Its session told who it is. Before ShmPeer::set_connected.
    void identify(ShmPeer& peer, const Identity& identity);
    void remove(ShmPeer& peer) noexcept;

    [[nodiscard]] const All& all() const noexcept { return all_; }
    template <typename F>
    void each_of(const Identity& identity, F&& visit) {
        const auto [begin, end] = by_identity_.equal_range(identity);
        for (auto at = begin; at != end; ++at) visit(*at->second);
    }

  private:
    void forget_identity(ShmPeer& peer) noexcept;

    All all_;
    std::unordered_map<const na::AddrBody*, ShmPeer*> by_addr_;
    std::multimap<Identity, ShmPeer*> by_identity_;
    std::unordered_multimap<std::string, ShmPeer*> by_place_;
};

}  // namespace cinnabar::shm
