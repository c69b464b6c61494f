// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on a simulated network. Events of the world only put items into its inbox and access registered
// memory; the context sees the items in poll(), in order.
#pragma once

#include "ops.hpp"
#include "sessions.hpp"
#include "slots.hpp"
#include "transport.hpp"

#include <cinnabar/na/session/message_pool.hpp>

#include <deque>

namespace cinnabar::sim {

class SimPort final : public na::Port {
  public:
    SimPort(SimTransport& transport, na::PortHost& host);
    void close() noexcept override;

    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override { return sessions_.peer(addr); }
    void unreferenced(na::Peer& peer) noexcept override { sessions_.unreferenced(static_cast<SimPeer&>(peer)); }
    void disconnect(na::Peer& peer) noexcept override { sessions_.disconnect(static_cast<SimPeer&>(peer)); }
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    void cancel(na::Op& op) noexcept override { ops_.cancel(op); }
    unsigned poll() noexcept override;
    void flush() noexcept override {}
    [[nodiscard]] bool prepare_wait() noexcept override { return nothing_to_do(); }
    void idle(TimeUs until) noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override { return slots_.keep(arrival, out); }
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override { return slots_.detach(kept); }
    void release(na::Kept& kept) noexcept override { slots_.release(kept); }
    void stop_accepting() noexcept override { sessions_.stop_accepting(); }

    // Called by the world and the transport.
    [[nodiscard]] TimeUs idle_until() const noexcept { return idle_until_; }  // 0: not idle
    void set_idle_until(TimeUs until) noexcept { idle_until_ = until; }
    void add_to(World::HostCounts& counts) const noexcept;
    void run_soon(WorkItem& work) noexcept { host_.submit(work); }
    void die();

    // Used by the port's parts and by events.
    [[nodiscard]] SimTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] WorldState& world() const noexcept { return world_; }
    [[nodiscard]] na::PortHost& host() const noexcept { return host_; }
    [[nodiscard]] Sessions& sessions() noexcept { return sessions_; }
    [[nodiscard]] Ops& ops() noexcept { return ops_; }
    [[nodiscard]] Slots& slots() noexcept { return slots_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] bool dead() const noexcept { return !transport_.alive(); }
    void push(Item item);
    // Sends an op to a connected peer.
    void transmit(SimOp& sim_op, SimPeer& peer);

  private:
    void send(SimPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message, std::uint64_t op);
    void handle(Item& item);
    [[nodiscard]] bool nothing_to_do() const noexcept { return inbox_.empty() && ops_.none_done(); }

    SimTransport& transport_;
    WorldState& world_;
    na::PortHost& host_;
    na::MessagePool messages_;
    Sessions sessions_{*this};
    Ops ops_{*this};
    Slots slots_{*this};
    std::deque<Item> inbox_;
    TimeUs idle_until_ = 0;
    bool closed_ = false;
};

}  // namespace cinnabar::sim
