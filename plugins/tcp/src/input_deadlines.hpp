// SPDX-License-Identifier: BSD-3-Clause
// Ends sessions whose peer has sent a part of a message, or of a guard's record, but does not send the rest in time,
// because the part occupies memory of this side. Lists the lanes that wait for the rest. Owner of the context only.
#pragma once

#include "lane.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>

namespace cinnabar::tcp {

class InputDeadlines {
  public:
    // `port`: the port of these lanes.
    explicit InputDeadlines(TcpPort& port) noexcept;

    // Call it when rest_due() of a lane has changed. Nothing is ever due if `keepalive` is 0.
    void changed(Lane& lane) noexcept;
    void remove(Lane& lane) noexcept;
    // Stops the timer.
    void stop() noexcept;

    // The deadline for the rest of a message or record of `bytes` whose first byte arrives now.
    [[nodiscard]] TimeUs due(std::size_t bytes) const noexcept;

  private:
    using Lanes = IntrusiveList<Lane, &Lane::partial_link>;
    void check() noexcept;
    // Makes the timer expire at `due`, but not earlier than keepalive / checks_max from now. If the timer already
    // expires earlier, leaves it unchanged.
    void check_by(TimeUs due) noexcept;

    TcpPort& port_;
    Lanes lanes_;
    std::size_t count_ = 0;
    TimerOf<InputDeadlines> timer_;  // armed while there are lanes
};

}  // namespace cinnabar::tcp
