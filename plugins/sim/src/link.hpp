// SPDX-License-Identifier: BSD-3-Clause
// A connection between two ports, and what travels on it. Shared by both ends and by the events that concern it, so
// that an event may come after everything else is gone.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::sim {

class SimPeer;
class SimPort;

struct Link {
    struct End {
        SimPort* port = nullptr;  // null when it closed
        SimPeer* peer = nullptr;  // null when the end is down or not up yet
        bool up = false;          // what arrives here is taken
        bool ever_up = false;
        TimeUs last_arrival = 0;  // friendly: nothing arrives before it
        std::string host;
        bool lost_early = false;  // before it was up
    };
    std::uint64_t id = 0;
    std::array<End, 2> ends;
};

using LinkPtr = std::shared_ptr<Link>;

// A message on its way or in a slot.
struct Packet {
    enum class Kind : std::uint8_t { unexpected, expected, notify };
    Kind kind = Kind::unexpected;
    LinkPtr link;
    unsigned to = 0;  // index of the end that it goes to
    na::Tag tag = 0;  // the value of a notification
    std::unique_ptr<std::byte[]> bytes;
    std::uint32_t count = 0;
    unsigned tries = 0;
    std::uint64_t op = 0;  // the op that is acknowledged when it has arrived; 0 for none
};

}  // namespace cinnabar::sim
