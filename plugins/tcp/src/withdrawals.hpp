// SPDX-License-Identifier: BSD-3-Clause
// Ends sessions whose other side has proven a key or a certificate that is no longer good. All are looked at when keys
// and certificates were renewed, a few in each round, since a certificate takes some 0.1 ms; and each one when it
// begins, since its handshake may have gone by what was good then. Owner of the context only, but for renewed().
#pragma once

#include "connection.hpp"

#include <cinnabar/base/work.hpp>

#include <atomic>
#include <cstddef>

namespace cinnabar::tcp {

class Withdrawals {
  public:
    explicit Withdrawals(TcpPort& port) noexcept;

    // Other keys and certificates are in use. Any thread, while the port is in its transport's table.
    void renewed() noexcept;
    // Of connections that have a guard.
    void began(Connection& connection) noexcept;
    void remove(Connection& connection) noexcept;

  private:
    using Connections = IntrusiveList<Connection, &Connection::guarded_link>;
    void schedule() noexcept;
    void look() noexcept;

    TcpPort& port_;
    Connections guarded_;
    std::size_t count_ = 0;
    std::size_t left_ = 0;  // so many at the front are to be looked at
    std::atomic<bool> used_{false};
    std::atomic<bool> renewed_{false};
    std::atomic<bool> queued_{false};
    Work work_;
};

}  // namespace cinnabar::tcp
