// SPDX-License-Identifier: BSD-3-Clause
// The receive slots of a port. A packet takes a slot when it arrives (friendly: unless it is a notification), and holds
// the slot until the packet was delivered; if the receiver keeps the packet, until the packet is detached or released.
#pragma once

#include "link.hpp"

#include <cinnabar/na/arrival.hpp>

#include <deque>

namespace cinnabar::sim {

class Slots {
  public:
    explicit Slots(SimPort& port) noexcept : port_(port) {}

    // Takes in a packet that arrives. If no slot is free, the packet waits (friendly), or is retried and then breaks
    // its connection (rdma_strict).
    void take_in(Packet packet);
    // Delivers a packet to the receiver.
    void hand_out(Packet& packet);
    // As the functions of na::Port.
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept;
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept;
    void release(na::Kept& kept) noexcept;
    // Drops the packets that wait for a slot.
    void drop_blocked() noexcept { blocked_.clear(); }
    void add_to(World::HostCounts& counts) const noexcept {
        counts.slots += used_;
        counts.detached += spares_used_ + copies_;
    }

  private:
    [[nodiscard]] std::uint32_t slots_max() const noexcept;
    void give_to_port(Packet packet);
    void freed();

    SimPort& port_;
    std::deque<Packet> blocked_;  // friendly: packets that wait for a slot
    std::uint32_t used_ = 0;
    std::uint32_t spares_used_ = 0;
    std::uint32_t copies_ = 0;
    Packet* in_hand_ = nullptr;  // the arrival that is being delivered
};

}  // namespace cinnabar::sim
