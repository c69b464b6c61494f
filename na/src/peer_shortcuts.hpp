// SPDX-License-Identifier: BSD-3-Clause
// The shortcuts of a context: from an address to its peer, kept in the address. Owner of the context only.
#pragma once

#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/peer.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::na {

class PeerShortcuts {
  public:
    // `ordinal`: unique among the contexts that are open. Those with a large one have no shortcuts.
    explicit PeerShortcuts(std::uint32_t ordinal) noexcept : ordinal_(ordinal) {}

    // Makes Context::known_peer(addr) return `peer`; addr is the peer's own address or another name of it.
    void add(const Addr& addr, Peer& peer) noexcept;
    // Call before the peer is destroyed.
    void remove(const Peer& peer) noexcept;

  private:
    void clear(const Addr& addr, const Peer& peer) const noexcept;

    const std::uint32_t ordinal_;
    // Other addresses by which peers were asked for; the oldest entry is overwritten.
    struct OtherName {
        Addr addr;
        Peer* peer = nullptr;
    };
    std::array<OtherName, 64> other_names_;
    std::size_t next_ = 0;
};

}  // namespace cinnabar::na
