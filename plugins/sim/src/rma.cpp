// SPDX-License-Identifier: BSD-3-Clause
// The part of a port that accesses memory: in pieces, each at its own time; the target's process has no part in it.
#include "port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/remote_access.hpp>

#include <algorithm>

namespace cinnabar::sim {

void SimPort::access(SimOp& sim_op, SimPeer& peer) {
    const na::Op& op = *sim_op.op;
    const std::uint64_t bytes = na::is_atomic(op.kind) ? sizeof(std::uint64_t) : op.bytes;
    const std::uint64_t pieces =
        na::is_atomic(op.kind) || bytes < 2 ? 1 : 1 + world_.random().below(std::min<std::uint64_t>(bytes, 4));
    const LinkPtr link = peer.link_;
    const unsigned from = peer.end_;
    const std::uint64_t id = sim_op.id;
    sim_op.pieces_left = static_cast<std::uint32_t>(pieces);
    TimeUs when = world_.now_us();
    for (std::uint64_t i = 0; i < pieces; ++i) {
        const std::uint64_t begin = bytes * i / pieces;
        const std::uint64_t end = bytes * (i + 1) / pieces;
        // friendly: one after the other, and behind the messages before it; rdma_strict: as it happens.
        const TimeUs arrives = world_.now_us() + world_.travel_us(static_cast<std::size_t>(end));
        when = world_.strict() ? arrives : std::max({arrives, when, link->ends[1 - from].last_arrival});
        if (!world_.strict()) link->ends[1 - from].last_arrival = when;
        through(link, when, EventKind::piece,
                [link, from, id, begin, end] { place(link, from, id, begin, end - begin); });
    }
}

void SimPort::place(const LinkPtr& link, unsigned from, std::uint64_t id, std::uint64_t offset, std::uint64_t bytes) {
    SimPort* origin = link->ends[from].up ? link->ends[from].port : nullptr;
    SimPort* target = link->ends[1 - from].port;
    SimOp* sim_op = origin ? origin->flying(id) : nullptr;
    if (!sim_op || sim_op->result != Errc::ok) return;  // cancelled, refused, or its connection is gone
    WorldState& world = origin->world_;
    if (!target || !link->ends[1 - from].up) {
        // Not up yet, or gone: then the origin hears of it.
        if (!link->ends[1 - from].ever_up) {
            origin->through(link, world.now_us() + 50, EventKind::piece,
                            [link, from, id, offset, bytes] { place(link, from, id, offset, bytes); });
        }
        return;
    }
    if (target->transport_.stopped() && !world.strict()) {
        target->transport_.stall([link, from, id, offset, bytes] { place(link, from, id, offset, bytes); });
        return;
    }
    sim_op->result = move_bytes(*origin, *target, *sim_op->op, offset, bytes);
    if (sim_op->result != Errc::ok || --sim_op->pieces_left == 0) access_done(link, from, *sim_op);
}

Errc SimPort::move_bytes(SimPort& origin, SimPort& target, na::Op& op, std::uint64_t offset, std::uint64_t bytes) {
    if (op.remote.key.size() < na::LeaseKey::wire_bytes) return Errc::protocol;
    Reader reader(op.remote.key);
    const na::LeaseKey key = na::LeaseKey::decode(reader);
    if (!origin.world_.strict() && reader.left() != 0) return Errc::protocol;
    const na::Access want = na::is_atomic(op.kind)       ? na::Access::read_write
                            : op.kind == na::OpKind::get ? na::Access::read
                                                         : na::Access::write;
    // The whole access is checked with each piece: what is refused has placed nothing, unless it was revoked meanwhile.
    const auto pin =
        target.transport_.leases().pin(key, op.remote_offset, na::is_atomic(op.kind) ? bytes : op.bytes, want);
    if (!pin.ok()) return pin.why();
    // A real device would reach memory that is not registered any more.
    CINNABAR_ASSERT(target.transport_.registered(&pin.memory()));
    if (na::is_atomic(op.kind)) return na::run_atomic(pin, op.kind, op.operand, op.compare, op.fetched);
    CINNABAR_ASSERT(origin.transport_.registered(op.local));
    if (op.kind == na::OpKind::get) {
        op.local->copy_in(op.local_offset + offset, pin.memory(), pin.offset() + offset, bytes);
    } else {
        pin.memory().copy_in(pin.offset() + offset, *op.local, op.local_offset + offset, bytes);
    }
    return Errc::ok;
}

void SimPort::access_done(const LinkPtr& link, unsigned from, const SimOp& sim_op) {
    SimPort& origin = *link->ends[from].port;
    WorldState& world = origin.world_;
    if (sim_op.op->kind == na::OpKind::put_notify && sim_op.result == Errc::ok) {
        // A message behind the bytes.
        auto packet = std::make_shared<Packet>();
        packet->kind = Packet::Kind::notify;
        packet->link = link;
        packet->to = 1 - from;
        packet->tag = sim_op.op->notify;
        packet->op = sim_op.id;
        TimeUs when = world.now_us();
        if (world.strict()) when += world.travel_us(0);
        origin.through(link, when, EventKind::notify, [packet] { arrive(std::move(*packet)); });
        return;  // acknowledged when it has found a slot
    }
    acknowledge(link, from, sim_op.id, sim_op.result);
}

}  // namespace cinnabar::sim
