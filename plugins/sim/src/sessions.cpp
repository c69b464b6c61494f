// SPDX-License-Identifier: BSD-3-Clause
// Begins and ends connections, by handling the items about them that the simulated network delivers. Forgets peers that
// nothing uses.
#include "sessions.hpp"

#include "port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cinnabar::sim {
namespace {

// Encodes and decodes a Hello, as a real network would.
na::Hello through_bytes(const na::Hello& sent) {
    std::array<std::byte, na::hello_bytes> bytes;
    sent.encode(bytes);
    na::Hello hello;
    CINNABAR_ASSERT(na::Hello::decode(bytes, hello) == Errc::ok);
    return hello;
}

}  // namespace

Dial::Dial(SimPort& port, SimPeer& to) : from(&port), peer(&to), world(port.world()), host(port.transport().name()) {}

void Dial::fail(Errc why) {
    if (std::exchange(settled, true)) return;
    from->push({.kind = Item::Kind::dial_failed, .dial = shared_from_this(), .why = why});
}

void Dial::fail_later(Errc why) {
    world.schedule(world.now_us() + world.travel_us(na::hello_bytes), EventKind::answer,
                   [dial = shared_from_this(), why] { dial->fail(why); });
}

void SimPeer::give_up_dial() noexcept {
    dial->settled = true;
    dial->peer = nullptr;
    dial.reset();
}

std::uint32_t Sessions::message_bytes_max() const noexcept {
    return static_cast<std::uint32_t>(port_.transport().limits().message_bytes_max);
}

SimPeer& Sessions::add(na::Addr addr, std::string host) {
    peers_.push_back(std::make_unique<SimPeer>(port_, std::move(addr), std::move(host)));
    SimPeer& peer = *peers_.back();
    peer.message_bytes_max_ = message_bytes_max();
    return peer;
}

Result<na::Peer*> Sessions::peer(const na::Addr& addr) {
    const na::AddrBody& body = addr.body();
    for (const auto& peer : peers_) {
        if (peer->addr() == addr) return static_cast<na::Peer*>(peer.get());
    }
    std::string host;
    for (const std::string& endpoint : body.endpoints) {
        if (!port_.transport().reaches(endpoint)) continue;
        CINNABAR_TRY(const na::Uri uri, na::Uri::parse(endpoint));
        host = uri.host;
        break;
    }
    if (host.empty()) return Error(Errc::unreachable, "no such host or session in this world");
    for (const auto& peer : peers_) {
        const na::AddrBody& other = peer->addr().body();
        const bool same = other.context == body.context && other.incarnation == body.incarnation;
        if (same && peer->host == host) return static_cast<na::Peer*>(peer.get());
    }
    return static_cast<na::Peer*>(&add(addr, std::move(host)));
}

void Sessions::unreferenced(SimPeer& peer) noexcept {
    if (port_.closed() || std::exchange(peer.unused, true)) return;
    unused_.push_back(&peer);
}

void Sessions::forget_unused() {
    if (unused_.empty()) return;
    for (SimPeer* peer : std::exchange(unused_, {})) {
        peer->unused = false;
        if (peer->references() != 0 || peer->dial || peer->link) continue;
        port_.host().peer_gone(*peer);
        std::erase_if(peers_, [peer](const auto& each) { return each.get() == peer; });
    }
}

void Sessions::dial(SimPeer& peer) {
    if (peer.dial) return;
    if (peer.host.empty()) return port_.ops().finish_all(peer, Errc::unreachable);
    if (!accepting_) return port_.ops().finish_all(peer, Errc::closed);
    auto dial = std::make_shared<Dial>(port_, peer);
    peer.dial = dial;
    peer.state_ = na::PeerState::connecting;
    const na::AddrBody& to = peer.addr().body();
    const na::Hello question =
        na::make_hello(na::HelloKind::dial, port_.transport(), port_.host(), {to.incarnation, to.context});
    WorldState& world = port_.world();
    const TimeUs now = world.now_us();
    world.schedule(after(now, port_.transport().options().connect_timeout), EventKind::dial_timeout,
                   [dial] { dial->fail(Errc::timed_out); });
    if (world.random().chance(world.options().dial_lost_one_in)) return;
    world.schedule(now + world.travel_us(na::hello_bytes), EventKind::dial,
                   [dial, question = through_bytes(question), host = peer.host] {
                       if (dial->settled || dial->world.cut(dial->host, host)) return;
                       dial_arrives(dial, question, host);
                   });
}

void Sessions::dial_arrives(const DialPtr& dial, const na::Hello& question, const std::string& host) {
    SimTransport* transport = dial->world.find(host);
    SimPort* port = transport && transport->options().listen ? transport->port(question.peer_context) : nullptr;
    if (!port || !port->sessions().accepting_) return dial->fail_later(Errc::refused);
    port->push({.kind = Item::Kind::dial, .dial = dial, .hello = question});
}

void Sessions::handle(Item& item) {
    switch (item.kind) {
        case Item::Kind::dial:
            return on_dial(item);
        case Item::Kind::accepted:
            return on_accepted(item);
        case Item::Kind::dial_failed:
            return on_dial_failed(item);
        case Item::Kind::reset:
            if (SimPeer* peer = item.link->ends[item.end].peer; peer && peer->link == item.link) {
                lose(*peer, item.why);
                port_.host().receiver().on_peer(*peer, na::PeerEvent::lost, item.why);
                peer->release();  // the connection's reference
            }
            return;
        case Item::Kind::told_lost:
            port_.host().receiver().on_peer(*item.peer, na::PeerEvent::lost, item.why);
            return item.peer->release();
        case Item::Kind::packet:
        case Item::Kind::op_done:
            return;
    }
}

void Sessions::on_dial(Item& item) {
    Dial& dial = *item.dial;
    if (dial.settled) return;
    const na::Hello& question = item.hello;
    const SimTransport& transport = port_.transport();
    if (question.peer_incarnation != 0 && question.peer_incarnation != transport.incarnation()) {
        return dial.fail_later(Errc::peer_lost);
    }
    if (connections_ >= transport.options().connections_max) return dial.fail_later(Errc::overloaded);
    // Always a new peer, whatever identity it claims (decision 0027).
    const bool own = &dial.from->transport() == &transport;
    accept(add(na::Addr::of_connection("sim", port_.host().context_id(), question.context, question.incarnation, own),
               std::string()),
           item.dial, question);
}

void Sessions::accept(SimPeer& peer, const DialPtr& dial, const na::Hello& question) {
    WorldState& world = port_.world();
    const std::string& own_host = port_.transport().name();
    auto link = std::make_shared<Link>(world);
    link->ends[0].host = dial->host;
    link->ends[1] = {&port_, nullptr, true, true, 0, own_host};
    // The answer is sent before anything that waited for the connection.
    const TimeUs when = world.now_us() + world.travel_us(na::hello_bytes);
    link->ends[0].last_arrival = when;
    const na::Hello hello =
        na::make_hello(na::HelloKind::accept, port_.transport(), port_.host(), na::sender_of(question));
    link->through(when, EventKind::answer, [link, dial, answer = through_bytes(hello)] {
        if (dial->settled) return link->reset(1);
        // The accepted end has been lost since.
        if (!link->ends[1].up || link->ends[0].lost_early) return dial->fail(Errc::peer_lost);
        dial->settled = true;
        link->ends[0].port = dial->from;
        link->ends[0].up = link->ends[0].ever_up = true;
        dial->from->push({.kind = Item::Kind::accepted, .dial = dial, .link = link, .hello = answer});
    });
    if (const std::uint64_t cut = world.cut(dial->host, own_host)) {
        link->watch_cut(1, cut, port_.transport().options().keepalive);
    }
    connected(peer, link, 1, question);
}

void Sessions::on_accepted(Item& item) {
    Link& link = *item.link;
    if (!item.dial->peer) return link.close(0);  // the dial was given up meanwhile
    SimPeer& peer = *item.dial->peer;
    peer.dial.reset();
    if (const std::uint64_t cut = link.world.cut(link.ends[0].host, link.ends[1].host)) {
        link.watch_cut(0, cut, port_.transport().options().keepalive);
    }
    connected(peer, item.link, 0, item.hello);
}

void Sessions::on_dial_failed(Item& item) {
    if (!item.dial->peer) return;  // the dial was given up meanwhile
    SimPeer& peer = *item.dial->peer;
    peer.dial.reset();
    peer.state_ = na::PeerState::idle;
    port_.ops().finish_all(peer, item.why);
    port_.host().receiver().on_peer(peer, na::PeerEvent::lost, item.why);
    if (peer.references() == 0) unreferenced(peer);  // its last reference was released during the dial
}

void Sessions::connected(SimPeer& peer, LinkPtr link, unsigned end, const na::Hello& hello) {
    na::Receiver& receiver = port_.host().receiver();
    const bool restarted = peer.incarnation_ != 0 && peer.incarnation_ != hello.incarnation;
    link->ends[end].peer = &peer;
    peer.link = std::move(link);
    peer.end = end;
    peer.incarnation_ = hello.incarnation;
    peer.initial_credits_ = hello.credits;
    peer.message_bytes_max_ = std::min(hello.message_bytes_max, message_bytes_max());
    peer.state_ = na::PeerState::connected;
    ++peer.epoch_;
    ++connections_;
    peer.acquire();
    if (restarted) receiver.on_peer(peer, na::PeerEvent::restarted, Errc::ok);
    receiver.on_peer(peer, na::PeerEvent::connected, Errc::ok);

    // Sends the ops that waited for the connection, in order. A message that is too large for the peer ends here.
    SimOps waited;
    waited.splice_back(peer.waiting);
    while (SimOp* sim_op = waited.pop_front()) {
        peer.waiting.push_back(*sim_op);
        if (!peer.link) continue;  // a handler ended the connection: what it posted since waits for the next one
        const na::Op& op = *sim_op->op;
        const bool message = na::is_message(op.kind);
        if (message && op.message_bytes > peer.message_bytes_max_) {
            port_.ops().finish(*sim_op, Errc::too_large);
            continue;
        }
        if (message) receiver.on_delayed(peer, op.kind, op.tag, {op.message->payload, op.message_bytes});
        port_.transmit(*sim_op, peer);
    }
}

// Takes this side's end of a connection down. The caller reports the event.
void Sessions::lose(SimPeer& peer, Errc why) {
    const LinkPtr link = std::exchange(peer.link, nullptr);
    link->ends[peer.end].up = false;
    link->ends[peer.end].peer = nullptr;
    peer.state_ = na::PeerState::idle;
    --connections_;
    port_.ops().finish_all(peer, why);
}

void Sessions::disconnect(SimPeer& peer) noexcept {
    if (port_.closed() || port_.dead()) return;
    if (peer.dial) {
        peer.give_up_dial();
        peer.state_ = na::PeerState::idle;
        peer.acquire();  // held by the event
        port_.ops().finish_all(peer, Errc::peer_lost);
    } else if (peer.link) {
        peer.link->reset_later(1 - peer.end);
        lose(peer, Errc::peer_lost);  // the event releases the connection's reference
    } else {
        return;
    }
    port_.push({.kind = Item::Kind::told_lost, .peer = &peer, .why = Errc::peer_lost});
}

void Sessions::close() noexcept {
    for (const auto& peer : peers_) {
        if (peer->dial) {
            peer->dial->from = nullptr;
            peer->give_up_dial();
        }
        if (LinkPtr link = std::exchange(peer->link, nullptr)) {
            link->close(peer->end);
            peer->release();
        }
        peer->state_ = na::PeerState::idle;
        port_.ops().finish_all(*peer, Errc::canceled);
    }
}

void Sessions::report_gone() noexcept {
    for (const auto& peer : peers_) port_.host().peer_gone(*peer);
}

void Sessions::die() {
    for (const auto& peer : peers_) {
        if (peer->dial) peer->dial->settled = true;
        if (!peer->link) continue;
        peer->link->reset_later(1 - peer->end);
        peer->link->ends[peer->end].up = false;
        port_.ops().finish_canceled(*peer);
    }
}

void Sessions::refuse(Item& item) {
    if (item.kind == Item::Kind::dial) item.dial->fail_later(Errc::refused);
    if (item.kind == Item::Kind::accepted) item.link->close(0);
}

void Sessions::break_links_to(const std::string& host) {
    for (const auto& peer : peers_) {
        const LinkPtr link = peer->link;
        if (link && link->ends[1 - peer->end].host == host) link->reset_both();
    }
}

void Sessions::watch_cut_links(const std::string& host, std::uint64_t cut) {
    for (const auto& peer : peers_) {
        if (!peer->link || peer->link->ends[1 - peer->end].host != host) continue;
        peer->link->watch_cut(peer->end, cut, port_.transport().options().keepalive);
    }
}

}  // namespace cinnabar::sim
