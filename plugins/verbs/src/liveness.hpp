// SPDX-License-Identifier: BSD-3-Clause
// A port's slow timer. It probes the peers of silent sessions, and ends sessions whose peer does not answer. It also
// closes sessions that have ended, once the device has returned their work requests. Owner of the context only.
#pragma once

#include "session.hpp"

#include <cinnabar/base/timer_of.hpp>

namespace cinnabar::verbs {

class Liveness {
  public:
    explicit Liveness(VerbsPort& port) noexcept;

    // Call it when a session has begun or drains.
    void arm() noexcept;
    // Call when the session has ended and drains.
    void drain(Session& session) noexcept;
    [[nodiscard]] bool any_drains() const noexcept { return !draining_.empty(); }
    // Closes sessions that have drained or took too long; returns how many.
    unsigned close_drained() noexcept;
    // Stops the timer.
    void stop() noexcept;
    // Call it when the port closes all sessions.
    void forget_all() noexcept;

  private:
    void beat() noexcept;
    void probe_sessions(TimeUs keepalive) noexcept;

    VerbsPort& port_;
    IntrusiveList<Session, &Session::drain_link> draining_;
    TimerOf<Liveness> timer_;
};

}  // namespace cinnabar::verbs
