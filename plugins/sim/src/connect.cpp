// SPDX-License-Identifier: BSD-3-Clause
// The part of a port that makes and ends connections: dial, answer, loss.
#include "port.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cinnabar::sim {

na::Hello SimPort::hello(na::HelloKind kind) const {
    na::Hello hello;
    hello.kind = kind;
    hello.incarnation = transport_.incarnation();
    hello.context = context_;
    hello.message_bytes_max = static_cast<std::uint32_t>(transport_.limits().message_bytes_max);
    hello.credits = static_cast<std::uint16_t>(std::min(host_.initial_credits(), 65'535u));
    return hello;
}

namespace {

// As it would come off a wire.
na::Hello through_bytes(const na::Hello& sent) {
    std::array<std::byte, na::hello_bytes> bytes;
    sent.encode(bytes);
    na::Hello hello;
    CINNABAR_ASSERT(na::Hello::decode(bytes, hello) == Errc::ok);
    return hello;
}

}  // namespace

void SimPort::dial(SimPeer& peer) {
    if (peer.name_.empty()) return end_all(peer, Errc::unreachable);
    if (!accepting_) return end_all(peer, Errc::closed);
    auto dial = std::make_shared<Dial>();
    dial->from = this;
    dial->peer = &peer;
    dial->host = transport_.name();
    peer.dial_ = dial;
    peer.state_ = na::PeerState::connecting;
    na::Hello question = hello(na::HelloKind::dial);
    question.peer_incarnation = peer.addr().body().incarnation;
    question.peer_context = peer.addr().body().context;

    const TimeUs now = world_.now_us();
    const TimeUs timeout = after(now, transport_.options().connect_timeout);
    world_.schedule(timeout, EventKind::dial_timeout, [dial] {
        if (dial->settled) return;
        dial->settled = true;
        Item item;
        item.kind = Item::Kind::dial_failed;
        item.dial = dial;
        item.why = Errc::timed_out;
        dial->from->push(std::move(item));
    });
    if (world_.random().chance(world_.options().dial_lost_one_in)) return;
    world_.schedule(now + world_.travel_us(na::hello_bytes), EventKind::dial,
                    [world = &world_, dial, question = through_bytes(question), name = peer.name_] {
                        if (dial->settled || world->cut(dial->host, name)) return;
                        dial->from->dial_arrives(dial, question.peer_context, question, name);
                    });
}

// Runs at the dialler's port, which is alive, but acts for the target.
void SimPort::dial_arrives(const DialPtr& dial, na::ContextId target, const na::Hello& question,
                           const std::string& name) {
    SimTransport* host = world_.find(name);
    SimPort* port = host && host->options().listen ? host->port(target) : nullptr;
    if (!port || !port->accepting_) return answer_failure(dial, Errc::refused);
    Item item;
    item.kind = Item::Kind::dial;
    item.dial = dial;
    item.hello = question;
    port->push(std::move(item));
}

void SimPort::answer_failure(const DialPtr& dial, Errc why) {
    world_.schedule(world_.now_us() + world_.travel_us(na::hello_bytes), EventKind::answer, [dial, why] {
        if (std::exchange(dial->settled, true)) return;
        Item item;
        item.kind = Item::Kind::dial_failed;
        item.dial = dial;
        item.why = why;
        dial->from->push(std::move(item));
    });
}

void SimPort::on_dial(Item& item) {
    const DialPtr& dial = item.dial;
    if (dial->settled) return;
    const na::Hello& question = item.hello;
    if (question.peer_incarnation != 0 && question.peer_incarnation != transport_.incarnation()) {
        return answer_failure(dial, Errc::peer_lost);
    }
    if (connections_ >= transport_.options().connections_max) return answer_failure(dial, Errc::overloaded);
    // A peer of its own, whatever identity it claims.
    const bool own = &dial->from->transport_ == &transport_;
    accept(
        make_peer(na::Addr::of_connection("sim", context_, question.context, question.incarnation, own), std::string()),
        dial, question);
}

// Whatever answer comes, or has come and is not handled yet, is void.
void SimPort::give_up_dial(SimPeer& peer) noexcept {
    peer.dial_->settled = true;
    peer.dial_->peer = nullptr;
    peer.dial_.reset();
}

void SimPort::accept(SimPeer& peer, const DialPtr& dial, const na::Hello& question) {
    auto link = std::make_shared<Link>();
    link->id = world_.next_id();
    link->ends[0].host = dial->host;
    link->ends[1] = {this, nullptr, true, true, 0, transport_.name()};
    // The answer goes first: what waited for the connection follows it.
    const TimeUs when = world_.now_us() + world_.travel_us(na::hello_bytes);
    link->ends[0].last_arrival = when;
    through(link, when, EventKind::answer, [link, dial, answer = through_bytes(hello(na::HelloKind::accept))] {
        if (std::exchange(dial->settled, true)) return reset_end(link, 1);
        Item item;
        item.dial = dial;
        if (!link->ends[1].up || link->ends[0].lost_early) {  // accepted, and gone since
            item.kind = Item::Kind::dial_failed;
            item.why = Errc::peer_lost;
            return dial->from->push(std::move(item));
        }
        link->ends[0].port = dial->from;
        link->ends[0].up = link->ends[0].ever_up = true;
        item.kind = Item::Kind::accepted;
        item.link = link;
        item.hello = answer;
        dial->from->push(std::move(item));
    });
    if (const std::uint64_t cut = world_.cut(dial->host, transport_.name())) watch_cut(link, 1, cut);
    connected(peer, link, 1, question);
}

void SimPort::on_accepted(Item& item) {
    if (!item.dial->peer) {  // given up since
        close_end(item.link, 0);
        return;
    }
    SimPeer& peer = *item.dial->peer;
    peer.dial_.reset();
    if (const std::uint64_t cut = world_.cut(item.link->ends[0].host, item.link->ends[1].host)) {
        watch_cut(item.link, 0, cut);
    }
    connected(peer, item.link, 0, item.hello);
}

void SimPort::on_dial_failed(Item& item) {
    if (!item.dial->peer) return;  // given up since
    SimPeer& peer = *item.dial->peer;
    peer.dial_.reset();
    peer.state_ = na::PeerState::idle;
    end_all(peer, item.why);
    host_.receiver().on_peer(peer, na::PeerEvent::lost, item.why);
    if (peer.references() == 0) unreferenced(peer);  // let go while it was dialled
}

void SimPort::connected(SimPeer& peer, LinkPtr link, unsigned end, const na::Hello& hello) {
    const bool restarted = peer.incarnation_ != 0 && peer.incarnation_ != hello.incarnation;
    link->ends[end].peer = &peer;
    peer.link_ = std::move(link);
    peer.end_ = end;
    peer.incarnation_ = hello.incarnation;
    peer.initial_credits_ = hello.credits;
    peer.message_bytes_max_ =
        std::min(hello.message_bytes_max, static_cast<std::uint32_t>(transport_.limits().message_bytes_max));
    peer.state_ = na::PeerState::connected;
    ++peer.epoch_;
    ++connections_;
    peer.acquire();
    if (restarted) host_.receiver().on_peer(peer, na::PeerEvent::restarted, Errc::ok);
    host_.receiver().on_peer(peer, na::PeerEvent::connected, Errc::ok);
    // Those that waited for the connection, in their order. A message that became too large for the peer ends here.
    SimOps waited;
    waited.splice_back(peer.waiting_);
    while (SimOp* sim_op = waited.pop_front()) {
        peer.waiting_.push_back(*sim_op);
        const bool message = na::is_message(sim_op->op->kind);
        if (!peer.link_) continue;  // ended by the event: the loss has to find them
        const na::Op& op = *sim_op->op;
        if (message && op.message_bytes > peer.message_bytes_max_) {
            finish(*sim_op, Errc::too_large);
            continue;
        }
        if (message) host_.receiver().on_delayed(peer, op.kind, op.tag, {op.message->payload, op.message_bytes});
        transmit(*sim_op, peer);
    }
}

// This side goes for good; the other hears of it.
void SimPort::close_end(const LinkPtr& link, unsigned own_end) {
    Link::End& own = link->ends[own_end];
    own.up = false;
    own.peer = nullptr;
    own.port = nullptr;
    tell_other_end(link, own_end);
}

void SimPort::tell_other_end(const LinkPtr& link, unsigned own_end) {
    const unsigned other = 1 - own_end;
    through(link, world_.now_us() + world_.travel_us(0), EventKind::reset, [link, other] { reset_end(link, other); });
}

void SimPort::reset_end(const LinkPtr& link, unsigned end) {
    Link::End& side = link->ends[end];
    side.lost_early |= !side.ever_up;
    if (!side.up || !side.port) return;
    side.up = false;
    Item item;
    item.kind = Item::Kind::reset;
    item.link = link;
    item.end = end;
    item.why = Errc::peer_lost;
    side.port->push(std::move(item));
}

// The end of this side of a connection; the event is the caller's.
void SimPort::lose(SimPeer& peer, Errc why) {
    const LinkPtr link = std::exchange(peer.link_, nullptr);
    link->ends[peer.end_].up = false;
    link->ends[peer.end_].peer = nullptr;
    peer.state_ = na::PeerState::idle;
    --connections_;
    end_all(peer, why);
}

void SimPort::lose_and_tell(SimPeer& peer, Errc why) {
    lose(peer, why);
    host_.receiver().on_peer(peer, na::PeerEvent::lost, why);
    peer.release();  // the connection's
}

void SimPort::disconnect(na::Peer& any_peer) noexcept {
    auto& peer = static_cast<SimPeer&>(any_peer);
    if (closed_ || dead()) return;
    if (peer.dial_) {
        give_up_dial(peer);
        peer.state_ = na::PeerState::idle;
        peer.acquire();  // for the event
        end_all(peer, Errc::peer_lost);
    } else if (peer.link_) {
        tell_other_end(peer.link_, peer.end_);
        lose(peer, Errc::peer_lost);  // the connection's reference goes with the event
    } else {
        return;
    }
    Item item;
    item.kind = Item::Kind::told_lost;
    item.peer = &peer;
    item.why = Errc::peer_lost;
    push(std::move(item));
}

void SimPort::break_links_to(const std::string& host) {
    for (const auto& peer : peers_) {
        const LinkPtr link = peer->link_;
        if (!link || link->ends[1 - peer->end_].host != host) continue;
        reset_end(link, 0);
        reset_end(link, 1);
    }
}

void SimPort::watch_cut_links(const std::string& host, std::uint64_t cut) {
    for (const auto& peer : peers_) {
        const LinkPtr link = peer->link_;
        if (link && link->ends[1 - peer->end_].host == host) watch_cut(link, peer->end_, cut);
    }
}

void SimPort::watch_cut(const LinkPtr& link, unsigned end, std::uint64_t cut) {
    const Microseconds keepalive = transport_.options().keepalive;
    if (keepalive.count() == 0) return;
    world_.schedule(after(world_.now_us(), keepalive), EventKind::keepalive, [world = &world_, link, end, cut] {
        const std::string& a = link->ends[0].host;
        const std::string& b = link->ends[1].host;
        if (world->cut(a, b) != cut || !link->ends[end].up) return;
        reset_end(link, end);
        // The other end, if it has not noticed by itself, is told when it can be.
        world->hold(a, b, EventKind::reset, [link, end] { reset_end(link, 1 - end); });
    });
}

}  // namespace cinnabar::sim
