// SPDX-License-Identifier: BSD-3-Clause
// A connection between two ports. Both ends and its pending events share ownership of the link, so an event may run
// after the ports are gone. During a partition, messages wait here. world.cpp decides how long a message takes
// (travel_us), port.cpp whether sending it breaks the connection.
#pragma once

#include "world_state.hpp"

#include <cinnabar/na/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cinnabar::sim {

class SimPeer;
class SimPort;

struct Link : std::enable_shared_from_this<Link> {
    struct End {
        SimPort* port = nullptr;  // null: the port has closed
        SimPeer* peer = nullptr;  // null: the end is down, or not up yet
        bool up = false;          // this end takes what arrives
        bool ever_up = false;
        TimeUs last_arrival = 0;  // friendly: later packets arrive no earlier than this
        std::string host;
        bool lost_early = false;  // this end was lost before it was up
    };

    explicit Link(WorldState& in) : world(in), id(in.next_id()) {}

    // The port of an end that is up; otherwise null.
    [[nodiscard]] SimPort* port_up(unsigned end) const noexcept { return ends[end].up ? ends[end].port : nullptr; }
    // Runs `run` at `when`, or, if the hosts are partitioned then, when the partition has healed.
    void through(TimeUs when, EventKind kind, std::function<void()> run);
    // Resets the end: it sees that the connection broke.
    void reset(unsigned end);
    void reset_both();
    // As reset(), after the time that a message needs to that end.
    void reset_later(unsigned end);
    // Call when the port of this end closes; the other end sees a reset.
    void close(unsigned own_end);
    // Resets the end, unless the partition `cut` heals within `keepalive`.
    void watch_cut(unsigned end, std::uint64_t cut, Microseconds keepalive);
    // Tells the port at end `to` that its op has completed; under rdma_strict, this happens much later than the
    // completion.
    void acknowledge(unsigned to, std::uint64_t op, Errc result);

    WorldState& world;
    const std::uint64_t id;
    std::array<End, 2> ends;
};
using LinkPtr = std::shared_ptr<Link>;

// A message in flight or in a slot.
struct Packet {
    enum class Kind : std::uint8_t { unexpected, expected, notify };
    Kind kind = Kind::unexpected;
    LinkPtr link;
    unsigned to = 0;  // the end that it goes to
    na::Tag tag = 0;  // for a notification, its value
    std::unique_ptr<std::byte[]> bytes;
    std::uint32_t count = 0;
    unsigned tries = 0;
    std::uint64_t op = 0;  // the op to acknowledge when it arrives; 0: none
};

// The packet arrives at its end: it takes a slot, or waits or is retried, or is lost with its connection.
void arrive(Packet packet);
// Schedules arrive() at `when`.
void arrive_at(TimeUs when, EventKind kind, Packet packet);

}  // namespace cinnabar::sim
