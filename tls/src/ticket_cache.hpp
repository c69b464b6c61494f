// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 tickets (RFC 8446, 4.6.1) received from servers, in memory only. Each ticket is used once: otherwise an
// observer could tell that two connections belong to the same client. Any thread.
#pragma once

#include "openssl.hpp"

#include <cinnabar/na/session/socket_address.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

namespace cinnabar::tls {

class TicketCache {
  public:
    static constexpr std::size_t tickets_max = 256;
    static constexpr std::size_t tickets_of_address_max = 8;
    static constexpr std::size_t ticket_bytes_max = 8 * 1024;

    struct Free {
        void operator()(SSL_SESSION* session) const noexcept { openssl().SSL_SESSION_free(session); }
    };
    using Ticket = std::unique_ptr<SSL_SESSION, Free>;

    // Keeps a ticket. If the address has its full share, its oldest ticket is dropped; if the cache is full, the oldest
    // ticket of all addresses is dropped. Requires: `ticket` is not null.
    void keep(const na::SocketAddress& server, Ticket ticket) noexcept;
    // Removes and returns the newest ticket of that address. Null: there is none.
    [[nodiscard]] Ticket take(const na::SocketAddress& server) noexcept;
    [[nodiscard]] std::size_t size() const noexcept;

  private:
    struct Entry {
        na::SocketAddress server;
        Ticket ticket;
    };

    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  // the oldest first
};

}  // namespace cinnabar::tls
