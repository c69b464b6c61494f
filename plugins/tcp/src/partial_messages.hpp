// SPDX-License-Identifier: BSD-3-Clause
// The connections that have received a part of a message and wait for the rest. If the rest is late, the session ends:
// the part holds memory. Owner of the context only.
#pragma once

#include "message_lane.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>

namespace cinnabar::tcp {

class PartialMessages {
  public:
    // `port`: whose lanes these are.
    explicit PartialMessages(TcpPort& port) noexcept;

    void add(MessageLane& lane) noexcept;
    void remove(MessageLane& lane) noexcept;
    // No timer runs any more.
    void stop() noexcept;

  private:
    using Lanes = IntrusiveList<MessageLane, &MessageLane::partial_link>;
    void check() noexcept;

    TcpPort& port_;
    Lanes lanes_;
    std::size_t count_ = 0;
    TimerOf<PartialMessages> timer_;  // armed while there are any
};

}  // namespace cinnabar::tcp
