// SPDX-License-Identifier: BSD-3-Clause
// Counts the pending handshakes of a port by source, so that the source with the most handshakes makes room for others.
// One thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::na {

// Where a connection comes from: an IPv4 address; the first 64 bits of an IPv6 address, since a host usually has all
// the addresses that begin with them; a user of this host.
using Source = std::uint64_t;
[[nodiscard]] CINNABAR_API Source source_of(const SocketAddress& address) noexcept;
[[nodiscard]] CINNABAR_API Source source_of_connection(int fd) noexcept;

class CINNABAR_API PendingSources {
  public:
    static constexpr std::uint32_t pending_max = 256;

    // Handshakes are numbered below pending_max. Requires: this one has not entered.
    void enter(std::uint32_t handshake, Source source) noexcept;
    void leave(std::uint32_t handshake) noexcept;
    // The number of handshakes of the source that has the most.
    [[nodiscard]] std::uint32_t most() const noexcept;
    // Returns the number of handshakes of the source of `handshake`, including `handshake` itself.
    [[nodiscard]] std::uint32_t beside(std::uint32_t handshake) const noexcept;

  private:
    struct Account {
        Source source = 0;
        std::uint32_t pending = 0;
    };
    [[nodiscard]] std::uint32_t account_of(Source source) noexcept;

    std::array<Account, pending_max> accounts_{};
    std::array<std::uint16_t, pending_max> account_of_{};  // by handshake
    std::uint32_t used_ = 0;                               // accounts with an index from here on have no handshake
};

}  // namespace cinnabar::na
