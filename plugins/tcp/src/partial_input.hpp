// SPDX-License-Identifier: BSD-3-Clause
// The connections that have received a part of a message, or of a record of their guard, and wait for the rest. If the
// rest is late, the session ends: the part holds memory. Owner of the context only.
#pragma once

#include "connection.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>

namespace cinnabar::tcp {

class PartialInput {
  public:
    // `port`: whose connections these are.
    explicit PartialInput(TcpPort& port) noexcept;

    // Its rest_due() has changed. Nothing is ever due where the options have no `keepalive`.
    void changed(Connection& connection) noexcept;
    void remove(Connection& connection) noexcept;
    // No timer runs any more.
    void stop() noexcept;

    // When the rest of so many bytes has to have come whose first came now.
    [[nodiscard]] TimeUs due(std::size_t bytes) const noexcept;

  private:
    using Connections = IntrusiveList<Connection, &Connection::partial_link>;
    void check() noexcept;

    TcpPort& port_;
    Connections connections_;
    std::size_t count_ = 0;
    TimerOf<PartialInput> timer_;  // armed while there are any
};

}  // namespace cinnabar::tcp
