// SPDX-License-Identifier: BSD-3-Clause
// The part of a port that moves messages: on their way, into slots, out to the receiver.
#include "port.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::sim {
namespace {

constexpr unsigned no_slot_tries_max = 7;  // what a verbs queue pair does by itself
constexpr TimeUs no_slot_wait_us = 200;
constexpr std::byte after_use{0xdd};  // what a view shows that outlived its arrival

}  // namespace

void SimPort::through(const LinkPtr& link, TimeUs when, EventKind kind, std::function<void()> run) {
    world_.schedule(when, kind, [world = &world_, link, kind, run = std::move(run)]() mutable {
        const std::string& a = link->ends[0].host;
        const std::string& b = link->ends[1].host;
        if (world->cut(a, b) != 0) {
            world->hold(a, b, kind, std::move(run));
        } else {
            run();
        }
    });
}

void SimPort::transmit(SimOp& sim_op, SimPeer& peer) {
    peer.waiting_.remove(sim_op);
    peer.flying_.push_back(sim_op);
    sim_op.state = SimOp::State::flying;
    flying_.emplace(sim_op.id, &sim_op);
    const na::OpKind kind = sim_op.op->kind;
    if (kind == na::OpKind::send_unexpected || kind == na::OpKind::send_expected) {
        send(sim_op, peer);
    } else {
        access(sim_op, peer);
    }
}

void SimPort::send(SimOp& sim_op, SimPeer& peer) {
    const na::Op& op = *sim_op.op;
    const ConstBytes message(op.message->payload, op.message_bytes);
    fly(peer, op.kind, op.tag, message, world_.strict() ? sim_op.id : 0);
    if (!world_.strict()) finish(sim_op, Errc::ok);  // it went into the socket, whatever becomes of that
}

// Where an op waits for the arrival, its buffer is read as late.
void SimPort::fly(SimPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message, std::uint64_t op) {
    const LinkPtr link = peer.link_;
    const unsigned to = 1 - peer.end_;
    if (world_.random().chance(world_.options().reset_one_in)) {
        for (unsigned end : {0u, 1u}) {
            through(link, world_.now_us() + world_.travel_us(0), EventKind::reset,
                    [link, end] { reset_end(link, end); });
        }
        return;
    }
    TimeUs when = world_.now_us() + world_.travel_us(message.size());
    Packet packet;
    packet.kind = kind == na::OpKind::send_expected ? Packet::Kind::expected : Packet::Kind::unexpected;
    packet.link = link;
    packet.to = to;
    packet.tag = tag;
    packet.count = static_cast<std::uint32_t>(message.size());
    packet.bytes = std::make_unique<std::byte[]>(message.size());
    packet.op = op;
    if (op == 0) {
        std::memcpy(packet.bytes.get(), message.data(), message.size());
        when = link->ends[to].last_arrival = std::max(when, link->ends[to].last_arrival);
    }
    auto shared = std::make_shared<Packet>(std::move(packet));
    through(link, when, EventKind::message, [shared] {
        Packet& sent = *shared;
        if (sent.op != 0) {
            SimPort* origin = sent.link->ends[1 - sent.to].up ? sent.link->ends[1 - sent.to].port : nullptr;
            const SimOp* flying = origin ? origin->flying(sent.op) : nullptr;
            if (!flying) return;  // its connection went first
            std::memcpy(sent.bytes.get(), flying->op->message->payload, sent.count);
        }
        arrive(std::move(sent));
    });
}

void SimPort::arrive(Packet packet) {
    Link::End& end = packet.link->ends[packet.to];
    if (end.up && end.port) return end.port->take_in(std::move(packet));
    // Before the answer that brings this end up (only where there is no order); else it is gone.
    SimPort* origin = packet.link->ends[1 - packet.to].up ? packet.link->ends[1 - packet.to].port : nullptr;
    if (!origin || end.ever_up || !origin->world_.strict()) return;
    const LinkPtr link = packet.link;
    auto again = std::make_shared<Packet>(std::move(packet));
    origin->through(link, origin->world_.now_us() + no_slot_wait_us, EventKind::message,
                    [again] { arrive(std::move(*again)); });
}

void SimPort::take_in(Packet packet) {
    const bool strict = world_.strict();
    const bool takes_slot = strict || packet.kind != Packet::Kind::notify;
    if (!strict && !blocked_.empty()) {
        blocked_.push_back(std::move(packet));
        return;
    }
    if (takes_slot && slots_used_ >= transport_.options().receive_slots) {
        world_.count_slot_miss();
        if (!strict) {
            blocked_.push_back(std::move(packet));
        } else if (++packet.tries > no_slot_tries_max) {
            reset_end(packet.link, 0);
            reset_end(packet.link, 1);
        } else {
            const LinkPtr link = packet.link;
            auto again = std::make_shared<Packet>(std::move(packet));
            through(link, world_.now_us() + no_slot_wait_us, EventKind::message,
                    [again] { arrive(std::move(*again)); });
        }
        return;
    }
    if (takes_slot) ++slots_used_;
    if (packet.op != 0) acknowledge(packet.link, 1 - packet.to, packet.op, Errc::ok);
    Item item;
    item.kind = Item::Kind::packet;
    item.packet = std::move(packet);
    push(std::move(item));
}

// Tells the port at end `to` that its op is done; under rdma_strict much later than it was.
void SimPort::acknowledge(const LinkPtr& link, unsigned to, std::uint64_t op, Errc result) {
    SimPort* port = link->ends[1 - to].port ? link->ends[1 - to].port : link->ends[to].port;
    if (!port) return;
    WorldState& world = port->world_;
    TimeUs when = world.now_us() + world.travel_us(0);
    if (world.strict()) when += world.random().below(500);
    port->through(link, when, EventKind::acknowledged, [link, to, op, result] {
        SimPort* origin = link->ends[to].up ? link->ends[to].port : nullptr;
        if (!origin || !origin->flying(op)) return;
        Item item;
        item.kind = Item::Kind::op_done;
        item.op = op;
        item.why = result;
        origin->push(std::move(item));
        // A refused access leaves the queue pair in error.
        if (origin->world_.strict() && result != Errc::ok) {
            reset_end(link, 0);
            reset_end(link, 1);
        }
    });
}

void SimPort::slot_freed() {
    CINNABAR_ASSERT(slots_used_ > 0);
    --slots_used_;
    while (!blocked_.empty()) {
        const bool takes_slot = blocked_.front().kind != Packet::Kind::notify;
        if (takes_slot && slots_used_ >= transport_.options().receive_slots) return;
        if (takes_slot) ++slots_used_;
        Item item;
        item.kind = Item::Kind::packet;
        item.packet = std::move(blocked_.front());
        blocked_.pop_front();
        const Packet& packet = item.packet;
        if (packet.op != 0) acknowledge(packet.link, 1 - packet.to, packet.op, Errc::ok);
        push(std::move(item));
    }
}

void SimPort::hand_out(Packet& packet) {
    SimPeer* peer = packet.link->ends[packet.to].peer;
    const bool live = peer && peer->link_ == packet.link;
    const bool took_slot = world_.strict() || packet.kind != Packet::Kind::notify;
    world_.trace(EventKind::poll, 100 + static_cast<std::uint64_t>(packet.kind), packet.count);
    if (live && packet.kind == Packet::Kind::notify) {
        host_.receiver().on_notify(*peer, static_cast<std::uint32_t>(packet.tag));
    } else if (live) {
        in_hand_ = &packet;
        na::Arrival arrival{{packet.bytes.get(), packet.count}, peer, packet.tag, this, &packet, 0};
        if (packet.kind == Packet::Kind::expected) {
            host_.receiver().on_expected(arrival);
        } else {
            host_.receiver().on_unexpected(arrival);
        }
        if (!std::exchange(in_hand_, nullptr)) return;  // kept: the slot goes with it
        std::fill_n(packet.bytes.get(), packet.count, after_use);
    }
    if (took_slot) slot_freed();
}

Errc SimPort::keep(na::Arrival& arrival, na::Kept& out) noexcept {
    CINNABAR_ASSERT(in_hand_ && in_hand_ == arrival.token);
    out = na::Kept{arrival.bytes, this, in_hand_->bytes.release(), 0, false};
    in_hand_ = nullptr;
    return Errc::ok;
}

Errc SimPort::detach(na::Kept& kept) noexcept {
    if (kept.detached || closed_) return Errc::ok;
    const std::uint32_t slots = transport_.options().receive_slots;
    const bool spare = spares_used_ < slots / 4 && world_.random().below(2) == 0;
    if (!spare && copies_ >= slots) return Errc::overloaded;
    std::byte* const moved = spare ? nullptr : new (std::nothrow) std::byte[kept.bytes.size()];
    if (!spare && !moved) return Errc::overloaded;
    kept.detached = true;
    kept.index = spare ? 1 : 0;
    ++(spare ? spares_used_ : copies_);
    if (moved) {
        std::memcpy(moved, kept.bytes.data(), kept.bytes.size());
        auto* old = static_cast<std::byte*>(kept.token);
        std::fill_n(old, kept.bytes.size(), after_use);
        delete[] old;
        kept.token = moved;
        kept.bytes = {moved, kept.bytes.size()};
    }
    slot_freed();
    return Errc::ok;
}

void SimPort::release(na::Kept& kept) noexcept {
    delete[] static_cast<std::byte*>(kept.token);
    if (kept.detached) {
        --(kept.index == 1 ? spares_used_ : copies_);
    } else if (!closed_) {
        slot_freed();
    }
    kept = {};
}

}  // namespace cinnabar::sim
