// SPDX-License-Identifier: BSD-3-Clause
// A port's peer, a dial to a peer, and the items that events put into a port's inbox.
#pragma once

#include "link.hpp"
#include "ops.hpp"

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/peer.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cinnabar::sim {

// A dial in progress, shared with the events that transfer the request and the answer.
struct Dial : std::enable_shared_from_this<Dial> {
    Dial(SimPort& port, SimPeer& to);
    // Fails the dial, unless it is settled.
    void fail(Errc why);
    // As fail(), after the time that an answer needs.
    void fail_later(Errc why);

    SimPort* from;  // null: its port has closed
    SimPeer* peer;  // null: the dial was given up
    WorldState& world;
    const std::string host;
    bool settled = false;  // answered, timed out or given up: later events are ignored
};
using DialPtr = std::shared_ptr<Dial>;

class SimPeer final : public na::Peer {
  public:
    SimPeer(na::Port& port, na::Addr addr, std::string name) noexcept
        : Peer(port, std::move(addr)), host(std::move(name)) {}
    ~SimPeer() = default;
    // Gives up the dial; an answer that comes later is ignored.
    void give_up_dial() noexcept;

    const std::string host;  // empty for an accepted peer
    LinkPtr link;            // null: not connected
    unsigned end = 0;        // this side's end of the link
    DialPtr dial;            // while connecting
    SimOps waiting;
    SimOps flying;
    bool unused = false;  // its last reference was released

  private:
    friend class Sessions;
};

// An entry of a port's inbox: an event puts it there, and the next poll handles it.
struct Item {
    enum class Kind : std::uint8_t { packet, dial, accepted, dial_failed, reset, told_lost, op_done };
    Kind kind = Kind::packet;
    Packet packet;
    DialPtr dial;
    LinkPtr link;
    unsigned end = 0;
    na::Hello hello;
    SimPeer* peer = nullptr;  // told_lost: holds a reference
    std::uint64_t op = 0;
    Errc why = Errc::ok;
};

}  // namespace cinnabar::sim
