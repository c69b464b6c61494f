// SPDX-License-Identifier: BSD-3-Clause
// A port's slow timer. It asks the peers of silent sessions for a sign of life and ends sessions whose peer gives none.
// And it closes connections that are over, once the device has given back what it holds of them. Owner of the context
// only.
#pragma once

#include "connection.hpp"

#include <cinnabar/base/timer_of.hpp>

namespace cinnabar::verbs {

class Liveness {
  public:
    explicit Liveness(VerbsPort& port) noexcept;

    // A session has begun, or a connection drains.
    void arm() noexcept;
    // The connection is over. Requires: the port's dirty list does not have it.
    void drain(Connection& connection) noexcept;
    [[nodiscard]] bool any_drains() const noexcept { return !draining_.empty(); }
    // Closes the connections that have drained, or took too long; returns how many.
    unsigned close_drained() noexcept;
    // No timer runs any more.
    void stop() noexcept;
    // The port closes all connections.
    void forget_all() noexcept;

  private:
    void beat() noexcept;
    void probe_sessions(TimeUs keepalive) noexcept;

    VerbsPort& port_;
    IntrusiveList<Connection, &Connection::link> draining_;
    TimerOf<Liveness> timer_;
};

}  // namespace cinnabar::verbs
