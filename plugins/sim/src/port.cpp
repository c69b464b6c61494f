// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include <cinnabar/na/session/posted.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cinnabar::sim {
namespace {

constexpr unsigned items_per_poll = 64;

}  // namespace

SimPort::SimPort(SimTransport& transport, na::PortHost& host)
    : transport_(transport),
      world_(transport.world()),
      host_(host),
      messages_(host.threads(), transport.options().send_slots_max, transport.limits().message_bytes_max) {}

void SimPort::close() noexcept {
    if (std::exchange(closed_, true)) return;
    transport_.close_port(host_.context_id());
    sessions_.close();
    for (Item& item : std::exchange(inbox_, {})) {
        Sessions::refuse(item);
        if (item.kind == Item::Kind::told_lost) item.peer->release();
    }
    slots_.drop_blocked();
    ops_.complete_rest();
    sessions_.report_gone();
}

void SimPort::die() {
    sessions_.die();
    for (Item& item : inbox_) Sessions::refuse(item);
}

void SimPort::push(Item item) {
    inbox_.push_back(std::move(item));
    idle_until_ = 0;
}

Errc SimPort::post(na::Op& op) noexcept {
    if (closed_) return Errc::closed;
    idle_until_ = 0;
    auto& peer = static_cast<SimPeer&>(*op.peer);
    if (!na::is_message(op.kind) && world_.strict() && !inside_one_segment(op.remote.key, op.remote_offset, op.bytes)) {
        return Errc::invalid_argument;
    }
    if (!dead() && world_.random().chance(world_.options().again_one_in)) return Errc::again;
    SimOp& sim_op = ops_.add(op, peer);
    if (dead()) return Errc::ok;
    if (peer.link) {
        transmit(sim_op, peer);
    } else {
        sessions_.dial(peer);
    }
    return Errc::ok;
}

bool SimPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<SimPeer&>(to);
    const bool takes = !closed_ && !dead() && !world_.strict() && peer.link && peer.waiting.empty();
    if (!takes || world_.random().chance(world_.options().again_one_in)) return false;
    idle_until_ = 0;
    send(peer, kind, tag, message, 0);
    return true;
}

void SimPort::transmit(SimOp& sim_op, SimPeer& peer) {
    ops_.launch(sim_op, peer);
    const na::Op& op = *sim_op.op;
    if (!na::is_message(op.kind)) return access(*this, sim_op, peer);
    send(peer, op.kind, op.tag, {op.message->payload, op.message_bytes}, world_.strict() ? sim_op.id : 0);
    if (!world_.strict()) ops_.finish(sim_op, Errc::ok);  // ends when sent, as with a socket, whether it arrives or not
}

// Sends a message. `op`: the op that completes when the message arrives; the op's buffer is read only then. 0: there is
// no op, and the bytes are copied now.
void SimPort::send(SimPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message, std::uint64_t op) {
    const LinkPtr link = peer.link;
    const unsigned to = 1 - peer.end;
    if (world_.random().chance(world_.options().reset_one_in)) {
        for (unsigned end : {0u, 1u}) link->reset_later(end);
        return;
    }
    TimeUs when = world_.now_us() + world_.travel_us(message.size());
    auto packet = std::make_shared<Packet>();
    packet->kind = kind == na::OpKind::send_expected ? Packet::Kind::expected : Packet::Kind::unexpected;
    packet->link = link;
    packet->to = to;
    packet->tag = tag;
    packet->count = static_cast<std::uint32_t>(message.size());
    packet->bytes = std::make_unique<std::byte[]>(message.size());
    packet->op = op;
    if (op == 0) {
        std::memcpy(packet->bytes.get(), message.data(), message.size());
        when = link->ends[to].last_arrival = std::max(when, link->ends[to].last_arrival);
    }
    link->through(when, EventKind::message, [packet] {
        if (packet->op != 0) {
            SimPort* origin = packet->link->port_up(1 - packet->to);
            const SimOp* sent = origin ? origin->ops().find(packet->op) : nullptr;
            if (!sent) return;  // its connection was lost
            std::memcpy(packet->bytes.get(), sent->op->message->payload, packet->count);
        }
        arrive(std::move(*packet));
    });
}

unsigned SimPort::poll() noexcept {
    unsigned done = 0;
    while (!dead() && !transport_.stopped() && done < items_per_poll && !inbox_.empty()) {
        Item item = std::move(inbox_.front());
        inbox_.pop_front();
        handle(item);
        ++done;
    }
    done += ops_.complete_some();
    sessions_.forget_unused();
    return done;
}

void SimPort::handle(Item& item) {
    if (item.kind == Item::Kind::packet) {
        slots_.hand_out(item.packet);
    } else if (item.kind == Item::Kind::op_done) {
        if (SimOp* sim_op = ops_.find(item.op)) ops_.finish(*sim_op, item.why);
    } else {
        sessions_.handle(item);
    }
}

void SimPort::idle(TimeUs until) noexcept {
    if (nothing_to_do()) world_.idle(*this, until);
}

void SimPort::add_to(World::HostCounts& counts) const noexcept {
    slots_.add_to(counts);
    counts.messages += messages_.taken();
    sessions_.add_to(counts);
}

}  // namespace cinnabar::sim
