// SPDX-License-Identifier: BSD-3-Clause
// The messages that a sealed port has given to the transport below and not got back. Owner of the context only.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstdint>

namespace cinnabar::tls {

class SealedSession;

struct Shipment : PoolSlot {
    na::Op op;
    SealedSession* session = nullptr;
    bool data = false;  // of a put or get
};

class Shipments {
  public:
    explicit Shipments(std::uint32_t shipments_max) : pool_(ThreadUse::one, shipments_max) {}
    // Call it once, before the others. `below` must outlive the last shipment.
    void open(na::Port& below) noexcept { below_ = &below; }

    // Takes a shipment and a message of the transport below for it. Null: that transport has no room.
    [[nodiscard]] Shipment* take() noexcept;
    void give(Shipment& shipment) noexcept;
    // As na::Context::post_owned, for the port below.
    [[nodiscard]] Errc post(Shipment& shipment, na::Peer& to) noexcept;
    // Call when the operation has completed; tells the session.
    void returned(na::Op& op, Errc result) noexcept;
    [[nodiscard]] std::uint32_t taken() const noexcept { return pool_.taken(); }
    // Whether half of the shipments are in use. Peers that do not read may be holding the used shipments.
    [[nodiscard]] bool scarce() const noexcept { return 2 * pool_.taken() >= pool_.slots_max(); }

  private:
    na::Port* below_ = nullptr;
    SlotPool<Shipment> pool_;
};

}  // namespace cinnabar::tls
