// SPDX-License-Identifier: BSD-3-Clause
// A connection between two ports. Both ends share it with the events that concern it, so that an event may run after
// everything else is gone.
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
        SimPort* port = nullptr;  // null when it closed
        SimPeer* peer = nullptr;  // null when the end is down or not up yet
        bool up = false;          // what arrives here is taken
        bool ever_up = false;
        TimeUs last_arrival = 0;  // friendly: nothing arrives before it
        std::string host;
        bool lost_early = false;  // before it was up
    };

    explicit Link(WorldState& in) : world(in), id(in.next_id()) {}

    // The port of an end that is up; else null.
    [[nodiscard]] SimPort* port_up(unsigned end) const noexcept { return ends[end].up ? ends[end].port : nullptr; }
    // Runs `run` at `when`; if the hosts are partitioned then, once that has healed.
    void through(TimeUs when, EventKind kind, std::function<void()> run);
    // The end sees that the connection broke.
    void reset(unsigned end);
    void reset_both();
    // The same after a reset has travelled to that end.
    void reset_later(unsigned end);
    // The port of this end closes; the other end sees a reset.
    void close(unsigned own_end);
    // Resets the end unless the partition `cut` heals within `keepalive`.
    void watch_cut(unsigned end, std::uint64_t cut, Microseconds keepalive);
    // Tells the port at end `to` that its op is done; under rdma_strict much later than it was.
    void acknowledge(unsigned to, std::uint64_t op, Errc result);

    WorldState& world;
    const std::uint64_t id;
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

// The packet arrives at its end: it takes a slot there, or tries again, or is lost with its connection.
void arrive(Packet packet);
// arrive() at `when`.
void arrive_at(TimeUs when, EventKind kind, Packet packet);

}  // namespace cinnabar::sim
