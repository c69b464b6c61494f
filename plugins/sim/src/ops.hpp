// SPDX-License-Identifier: BSD-3-Clause
// The operations of a port, from their post to their completion.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/op.hpp>

#include <cstdint>
#include <map>

namespace cinnabar::sim {

class SimPeer;
class SimPort;

// Lives in Op::private_bytes while the op is posted.
struct SimOp {
    enum class State : std::uint8_t { waiting, flying, done };
    ListLink<SimOp> link;
    na::Op* op = nullptr;
    std::uint64_t id = 0;
    std::uint32_t pieces_left = 0;
    Errc result = Errc::ok;
    State state = State::waiting;
};
using SimOps = IntrusiveList<SimOp, &SimOp::link>;

class Ops {
  public:
    explicit Ops(SimPort& port) noexcept : port_(port) {}

    // Adds a posted op to those that wait for their peer.
    SimOp& add(na::Op& op, SimPeer& peer);
    // Marks the op as being in flight.
    void launch(SimOp& sim_op, SimPeer& peer);
    // The op in flight with that id; null: there is none.
    [[nodiscard]] SimOp* find(std::uint64_t id) noexcept;
    // Sets the result of an op; complete_some() completes it.
    void finish(SimOp& sim_op, Errc result) noexcept;
    void finish_all(SimPeer& peer, Errc result) noexcept;
    // Ends the ops in flight that the user has asked to cancel: the process was killed, so they are never acknowledged.
    void finish_canceled(SimPeer& peer) noexcept;
    void cancel(na::Op& op) noexcept;
    [[nodiscard]] bool none_done() const noexcept { return done_.empty(); }
    // Completes ops whose result is known, at most a bounded number; returns how many.
    unsigned complete_some() noexcept;
    // Completes all ops whose result is known, without an entry in the trace, because the port closes.
    void complete_rest() noexcept;

  private:
    SimPort& port_;
    std::map<std::uint64_t, SimOp*> flying_;
    SimOps done_;
};

// Starts the put, get or atomic of an op that is in flight. rma.cpp accesses the peer's memory in pieces, each at its
// own time, even while the peer's process does nothing. Requires: the peer is connected.
void access(SimPort& port, SimOp& sim_op, SimPeer& peer);

}  // namespace cinnabar::sim
