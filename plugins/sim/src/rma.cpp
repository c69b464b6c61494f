// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/session/remote_access.hpp>

#include <algorithm>

namespace cinnabar::sim {
namespace {

constexpr TimeUs piece_not_up_wait_us = 50;

Errc move_bytes(SimPort& origin, SimPort& target, const SimPeer* by, na::Op& op, std::uint64_t offset,
                std::uint64_t bytes) {
    if (op.remote.key.size() < na::LeaseKey::wire_bytes) return Errc::protocol;
    ByteReader reader(op.remote.key);
    const na::LeaseKey key = na::LeaseKey::decode(reader);
    if (!origin.world().strict() && reader.left() != 0) return Errc::protocol;
    const na::Access want = na::is_atomic(op.kind)       ? na::Access::read_write
                            : op.kind == na::OpKind::get ? na::Access::read
                                                         : na::Access::write;
    // Each piece checks the key, the access right and the bounds for the whole access. So an access that is refused has
    // written nothing, unless its lease was revoked in between.
    const auto pin =
        target.transport().leases().pin(key, op.remote_offset, na::is_atomic(op.kind) ? bytes : op.bytes, want, by);
    if (!pin.ok()) return pin.why();
    // A real device would access memory that is no longer registered.
    CINNABAR_ASSERT(target.transport().registered(&pin.memory()));
    if (na::is_atomic(op.kind)) return na::run_atomic(pin, op.kind, op.operand, op.compare, op.fetched);
    CINNABAR_ASSERT(origin.transport().registered(op.local));
    if (op.kind == na::OpKind::get) {
        op.local->copy_in(op.local_offset + offset, pin.memory(), pin.offset() + offset, bytes);
    } else {
        pin.memory().copy_in(pin.offset() + offset, *op.local, op.local_offset + offset, bytes);
    }
    return Errc::ok;
}

void access_done(Link& link, unsigned from, const SimOp& sim_op) {
    if (sim_op.op->kind != na::OpKind::put_notify || sim_op.result != Errc::ok) {
        return link.acknowledge(from, sim_op.id, sim_op.result);
    }
    // The notification follows the bytes; the op is acknowledged when the notification has a slot.
    TimeUs when = link.world.now_us();
    if (link.world.strict()) when += link.world.travel_us(0);
    arrive_at(when, EventKind::notify,
              {.kind = Packet::Kind::notify,
               .link = link.shared_from_this(),
               .to = 1 - from,
               .tag = sim_op.op->notify,
               .op = sim_op.id});
}

// Handles the arrival of a piece of an access at the target.
void place(const LinkPtr& link, unsigned from, std::uint64_t id, std::uint64_t offset, std::uint64_t bytes) {
    const auto again = [link, from, id, offset, bytes] { place(link, from, id, offset, bytes); };
    SimPort* origin = link->port_up(from);
    SimOp* sim_op = origin ? origin->ops().find(id) : nullptr;
    if (!sim_op || sim_op->result != Errc::ok) return;  // canceled, refused, or its connection was lost
    WorldState& world = link->world;
    SimPort* target = link->port_up(1 - from);
    if (!target) {
        // The target is gone, and the origin will see a reset; or the target's end is not up yet.
        if (!link->ends[1 - from].ever_up)
            link->through(world.now_us() + piece_not_up_wait_us, EventKind::piece, again);
        return;
    }
    if (target->transport().stopped() && !world.strict()) return target->transport().stall(again);
    sim_op->result = move_bytes(*origin, *target, link->ends[1 - from].peer, *sim_op->op, offset, bytes);
    if (sim_op->result != Errc::ok || --sim_op->pieces_left == 0) access_done(*link, from, *sim_op);
}

}  // namespace

void access(SimPort& port, SimOp& sim_op, SimPeer& peer) {
    WorldState& world = port.world();
    const na::Op& op = *sim_op.op;
    const bool atomic = na::is_atomic(op.kind);
    const std::uint64_t bytes = atomic ? sizeof(std::uint64_t) : op.bytes;
    const std::uint64_t pieces = atomic || bytes < 2 ? 1 : 1 + world.random().below(std::min<std::uint64_t>(bytes, 4));
    const LinkPtr link = peer.link;
    const unsigned from = peer.end;
    const std::uint64_t id = sim_op.id;
    sim_op.pieces_left = static_cast<std::uint32_t>(pieces);
    const bool gets = op.kind == na::OpKind::get;
    const std::string& sender = link->ends[gets ? 1 - from : from].host;
    const std::string& receiver = link->ends[gets ? from : 1 - from].host;
    TimeUs& last_arrival = link->ends[1 - from].last_arrival;
    TimeUs when = world.now_us();
    for (std::uint64_t i = 0; i < pieces; ++i) {
        const std::uint64_t begin = bytes * i / pieces;
        const std::uint64_t end = bytes * (i + 1) / pieces;
        // friendly: pieces arrive in order, and after earlier messages; rdma_strict: in any order.
        const TimeUs travels = world.travel_us(static_cast<std::size_t>(end));
        const TimeUs arrives = std::max(world.now_us() + travels, world.send_bytes(sender, receiver, end - begin));
        when = world.strict() ? arrives : std::max({arrives, when, last_arrival});
        if (!world.strict()) last_arrival = when;
        link->through(when, EventKind::piece,
                      [link, from, id, begin, end] { place(link, from, id, begin, end - begin); });
    }
}

}  // namespace cinnabar::sim
