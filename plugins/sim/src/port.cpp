// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::sim {
namespace {

constexpr unsigned items_per_poll = 64;
constexpr unsigned completions_per_poll = 256;

SimOp& sim_op_of(na::Op& op) noexcept { return *std::launder(reinterpret_cast<SimOp*>(op.private_bytes)); }

}  // namespace

SimPort::SimPort(SimTransport& transport, na::PortHost& host)
    : transport_(transport),
      world_(transport.world()),
      host_(host),
      context_(host.context_id()),
      messages_(host.threads(), transport.options().send_slots_max, transport.limits().message_bytes_max) {}

void SimPort::close() noexcept {
    if (std::exchange(closed_, true)) return;
    transport_.close_port(context_);
    for (const auto& peer : peers_) {
        if (peer->dial_) {
            peer->dial_->from = nullptr;
            give_up_dial(*peer);
        }
        if (LinkPtr link = std::exchange(peer->link_, nullptr)) {
            close_end(link, peer->end_);
            peer->release();
        }
        peer->state_ = na::PeerState::idle;
        end_all(*peer, Errc::canceled);
    }
    // What was accepted for a connection that is not told yet: its other end hears that we are gone.
    for (Item& item : std::exchange(inbox_, {})) {
        if (item.kind == Item::Kind::dial) answer_failure(item.dial, Errc::refused);
        if (item.kind == Item::Kind::accepted) close_end(item.link, 0);
        if (item.kind == Item::Kind::told_lost) item.peer->release();
    }
    blocked_.clear();
    while (SimOp* sim_op = done_.pop_front()) host_.complete(*sim_op->op, sim_op->result);
    for (const auto& peer : peers_) host_.peer_gone(*peer);
}

void SimPort::die() {
    for (const auto& peer : peers_) {
        if (peer->dial_) peer->dial_->settled = true;
        if (!peer->link_) continue;
        tell_other_end(peer->link_, peer->end_);
        peer->link_->ends[peer->end_].up = false;
    }
    for (Item& item : inbox_) {
        if (item.kind == Item::Kind::dial) answer_failure(item.dial, Errc::refused);
        if (item.kind == Item::Kind::accepted) close_end(item.link, 0);
    }
}

SimPeer& SimPort::make_peer(na::Addr addr, std::string name) {
    peers_.push_back(std::make_unique<SimPeer>(*this, std::move(addr), std::move(name)));
    SimPeer& peer = *peers_.back();
    peer.message_bytes_max_ = static_cast<std::uint32_t>(transport_.limits().message_bytes_max);
    return peer;
}

Result<na::Peer*> SimPort::peer(const na::Addr& addr) {
    const na::AddrBody& body = addr.body();
    for (const auto& peer : peers_) {
        if (peer->addr() == addr) return static_cast<na::Peer*>(peer.get());
    }
    std::string name;
    for (const std::string& endpoint : body.endpoints) {
        if (!transport_.reaches(endpoint)) continue;
        CINNABAR_TRY(const na::Uri uri, na::Uri::parse(endpoint));
        name = uri.host;
        break;
    }
    if (name.empty()) return Error(Errc::unreachable, "not a host of this world, nor a session of it");
    for (const auto& peer : peers_) {
        const na::AddrBody& other = peer->addr().body();
        const bool same = other.context == body.context && other.incarnation == body.incarnation;
        if (same && peer->name_ == name) return static_cast<na::Peer*>(peer.get());
    }
    return static_cast<na::Peer*>(&make_peer(addr, std::move(name)));
}

void SimPort::unreferenced(na::Peer& any_peer) noexcept {
    auto& peer = static_cast<SimPeer&>(any_peer);
    if (closed_ || std::exchange(peer.unreferenced_, true)) return;
    unreferenced_.push_back(&peer);
}

// Peers that were not used again since their last reference went.
void SimPort::reap_peers() {
    for (SimPeer* peer : std::exchange(unreferenced_, {})) {
        peer->unreferenced_ = false;
        if (peer->references() != 0 || peer->dial_ || peer->link_) continue;
        host_.peer_gone(*peer);
        std::erase_if(peers_, [peer](const auto& each) { return each.get() == peer; });
    }
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
    auto& sim_op = na::make_posted<SimOp>(op);
    sim_op.id = world_.next_id();
    peer.waiting_.push_back(sim_op);
    if (dead()) return Errc::ok;
    if (peer.link_) {
        transmit(sim_op, peer);
    } else if (!peer.dial_) {
        dial(peer);
    }
    return Errc::ok;
}

bool SimPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<SimPeer&>(to);
    const bool takes = !closed_ && !dead() && !world_.strict() && peer.link_ && peer.waiting_.empty();
    if (!takes || world_.random().chance(world_.options().again_one_in)) return false;
    idle_until_ = 0;
    fly(peer, kind, tag, message, 0);
    return true;
}

SimOp* SimPort::flying(std::uint64_t id) noexcept {
    const auto found = flying_.find(id);
    return found == flying_.end() ? nullptr : found->second;
}

void SimPort::finish(SimOp& sim_op, Errc result) noexcept {
    auto& peer = static_cast<SimPeer&>(*sim_op.op->peer);
    CINNABAR_ASSERT(sim_op.state != SimOp::State::done);
    if (sim_op.state == SimOp::State::waiting) {
        peer.waiting_.remove(sim_op);
    } else {
        peer.flying_.remove(sim_op);
        flying_.erase(sim_op.id);
    }
    sim_op.state = SimOp::State::done;
    sim_op.result = result;
    done_.push_back(sim_op);
    idle_until_ = 0;
}

void SimPort::end_all(SimPeer& peer, Errc result) noexcept {
    while (SimOp* sim_op = peer.flying_.front()) finish(*sim_op, result);
    while (SimOp* sim_op = peer.waiting_.front()) finish(*sim_op, result);
}

void SimPort::cancel(na::Op& op) noexcept {
    SimOp& sim_op = sim_op_of(op);
    if (sim_op.state == SimOp::State::done) return;
    const bool recalled = sim_op.state == SimOp::State::waiting || !world_.strict() || dead();
    if (recalled) finish(sim_op, Errc::canceled);
}

unsigned SimPort::poll() noexcept {
    unsigned done = 0;
    while (!dead() && !transport_.stopped() && done < items_per_poll && !inbox_.empty()) {
        Item item = std::move(inbox_.front());
        inbox_.pop_front();
        handle(item);
        ++done;
    }
    done += poll_done();
    if (!unreferenced_.empty()) reap_peers();
    return done;
}

void SimPort::handle(Item& item) {
    switch (item.kind) {
        case Item::Kind::packet:
            hand_out(item.packet);
            break;
        case Item::Kind::dial:
            on_dial(item);
            break;
        case Item::Kind::accepted:
            on_accepted(item);
            break;
        case Item::Kind::dial_failed:
            on_dial_failed(item);
            break;
        case Item::Kind::reset:
            if (SimPeer* peer = item.link->ends[item.end].peer; peer && peer->link_ == item.link) {
                lose_and_tell(*peer, item.why);
            }
            break;
        case Item::Kind::told_lost:
            host_.receiver().on_peer(*item.peer, na::PeerEvent::lost, item.why);
            item.peer->release();
            break;
        case Item::Kind::op_done:
            if (SimOp* sim_op = flying(item.op)) finish(*sim_op, item.why);
            break;
    }
}

unsigned SimPort::poll_done() noexcept {
    // What the completions post is for the next poll.
    SimOps round;
    round.splice_back(done_);
    unsigned done = 0;
    while (SimOp* sim_op = round.pop_front()) {
        world_.trace(EventKind::poll, static_cast<std::uint64_t>(sim_op->op->kind),
                     static_cast<std::uint64_t>(sim_op->result) << 48 | sim_op->id);
        host_.complete(*sim_op->op, sim_op->result);
        if (++done == completions_per_poll) break;
    }
    round.splice_back(done_);
    done_.splice_back(round);
    return done;
}

void SimPort::idle(TimeUs until) noexcept {
    if (inbox_.empty() && done_.empty()) world_.idle(*this, until);
}

void SimPort::add_to(World::HostCounts& counts) const noexcept {
    counts.slots += slots_used_;
    counts.detached += spares_used_ + copies_;
    counts.messages += messages_.taken();
    counts.peers += static_cast<std::uint32_t>(peers_.size());
    counts.connections += connections_;
}

}  // namespace cinnabar::sim
