// SPDX-License-Identifier: BSD-3-Clause
// The shortcuts of a context, from an address to its peer. The first contexts of a process keep them in the address
// itself (AddrBody::shortcuts), all others in a small cache. Owner of the context only.
#pragma once

#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/peer.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::na {

class PeerShortcuts {
  public:
    // `ordinal`: unique among the contexts that are open.
    explicit PeerShortcuts(std::uint32_t ordinal) noexcept : ordinal_(ordinal) {}

    // Records that `addr` leads to `peer`; addr is the peer's own address or another name of it.
    void add(const Addr& addr, Peer& peer) noexcept;
    // For contexts whose shortcuts are not in the addresses: the peer, or null if peer() must look for it.
    [[nodiscard]] Peer* find(const Addr& addr) const noexcept {
        if (are_in_addresses()) return nullptr;
        const Name& name = names_[place(addr)];
        return name.peer && &name.addr.body() == &addr.body() ? name.peer : nullptr;
    }
    // Call before the peer is destroyed.
    void remove(const Peer& peer) noexcept;

  private:
    static constexpr std::size_t names_max = 64;
    [[nodiscard]] bool are_in_addresses() const noexcept { return ordinal_ < AddrBody::shortcuts; }
    [[nodiscard]] static std::size_t place(const Addr& addr) noexcept {
        return reinterpret_cast<std::uintptr_t>(&addr.body()) / 64 % names_max;
    }
    void clear(const Addr& addr, const Peer& peer) const noexcept;

    const std::uint32_t ordinal_;
    struct Name {
        Addr addr;
        Peer* peer = nullptr;
    };
    // If shortcuts are kept in the addresses: the last addresses, other than a peer's own, that got a shortcut; with
    // these entries the shortcuts can be cleared. A new entry overwrites the oldest. Otherwise the cache: each address
    // is stored at its place().
    std::array<Name, names_max> names_;
    std::size_t next_ = 0;
};

}  // namespace cinnabar::na
