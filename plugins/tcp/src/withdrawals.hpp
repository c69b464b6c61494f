// SPDX-License-Identifier: BSD-3-Clause
// Ends sessions whose other side has proven a key or a certificate that is no longer valid. When keys and certificates
// are renewed, all sessions are checked, a few per round, because a certificate takes some 0.1 ms. Each session is also
// checked when it begins, because its handshake may have used the old keys. Owner of the context only, except
// renewed().
#pragma once

#include "connection.hpp"

#include <cinnabar/base/work.hpp>

#include <atomic>
#include <cstddef>

namespace cinnabar::tcp {

class Withdrawals {
  public:
    explicit Withdrawals(TcpPort& port) noexcept;

    // Keys and certificates have changed. Any thread, while the port is in its transport's table.
    void renewed() noexcept;
    // For connections that have a guard.
    void began(Connection& connection) noexcept;
    void remove(Connection& connection) noexcept;

  private:
    using Connections = IntrusiveList<Connection, &Connection::guarded_link>;
    void schedule() noexcept;
    void look() noexcept;

    TcpPort& port_;
    Connections guarded_;
    std::size_t count_ = 0;
    std::size_t left_ = 0;  // connections at the front of guarded_ that are to be checked
    std::atomic<bool> used_{false};
    std::atomic<bool> renewed_{false};
    std::atomic<bool> queued_{false};
    Work work_;
};

}  // namespace cinnabar::tcp
