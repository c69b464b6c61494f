// SPDX-License-Identifier: BSD-3-Clause
// What a port knows of a remote context, a dial of it, and what events leave in a port's inbox.
#pragma once

#include "link.hpp"
#include "ops.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/peer.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cinnabar::sim {

// A connection being asked for. Shared with the events that carry the question and the answer.
struct Dial : std::enable_shared_from_this<Dial> {
    Dial(SimPort& port, SimPeer& to);
    // It has failed, unless it is settled.
    void fail(Errc why);
    // The same after that answer has travelled back.
    void fail_later(Errc why);

    SimPort* from;  // null once its port has closed
    SimPeer* peer;  // null once it is given up
    WorldState& world;
    const std::string host;
    bool settled = false;  // answered, timed out or given up: whatever comes later is ignored
};
using DialPtr = std::shared_ptr<Dial>;

class SimPeer final : public na::Peer {
  public:
    SimPeer(na::Port& port, na::Addr addr, std::string name) noexcept
        : Peer(port, std::move(addr)), host(std::move(name)) {}
    ~SimPeer() = default;
    // The answer, if one comes, is ignored.
    void give_up_dial() noexcept;

    const std::string host;  // empty for a peer that is known by its session only
    LinkPtr link;            // null unless connected
    unsigned end = 0;        // which end of the link is ours
    DialPtr dial;            // while connecting
    SimOps waiting;
    SimOps flying;
    bool unused = false;  // its last reference went

  private:
    friend class Sessions;
};

// What an event leaves for the port's next poll.
struct Item {
    enum class Kind : std::uint8_t { packet, dial, accepted, dial_failed, reset, told_lost, op_done };
    Kind kind = Kind::packet;
    Packet packet;
    DialPtr dial;
    LinkPtr link;
    unsigned end = 0;
    na::Hello hello;
    SimPeer* peer = nullptr;  // told_lost: with a reference
    std::uint64_t op = 0;
    Errc why = Errc::ok;
};

}  // namespace cinnabar::sim
