// SPDX-License-Identifier: BSD-3-Clause
// TcpPort: how sessions and their lanes begin and end.
#include "port.hpp"

#include <utility>

namespace cinnabar::tcp {
namespace {

// Whether both lanes of a session have proven the same identity; also true if neither has a guard, and so no identity.
bool same_identity(const na::ProvenIdentity* one, const na::ProvenIdentity* other) noexcept {
    if (!one || !other) return one == other;
    return one->by == other->by && one->name == other->name;
}

}  // namespace

void TcpPort::reject(Incoming& incoming, Errc why) noexcept {
    (void)na::send_greeting(incoming.stream, Greeting{reject_hello(incoming.greeting.hello, why), {}}.encode());
}

void TcpPort::accept(Incoming incoming) noexcept {
    switch (incoming.greeting.hello.kind) {
        case na::HelloKind::dial:
            return accept_session(std::move(incoming));
        case na::HelloKind::lane:
            return accept_lane(std::move(incoming));
        default:
            return;  // neither a dial nor a lane: dropped
    }
}

void TcpPort::accept_session(Incoming incoming) noexcept {
    const na::Hello& theirs = incoming.greeting.hello;
    if (const Errc refused = refusal(theirs); refused != Errc::ok) return reject(incoming, refused);
    const bool own = is_self_dial(incoming);
    if (is_reflected(incoming, own)) return reject(incoming, Errc::permission);
    const Greeting answer{hello(na::HelloKind::accept, na::sender_of(theirs)), random_token()};
    // Always a new peer. Two processes that dial each other at once get two sessions (decision 0027).
    TcpPeer* const peer = add_incoming(
        [&] { return std::make_unique<TcpPeer>(*this, sender_addr(incoming, own), transport_, na::DialTargets()); });
    if (!peer) return reject(incoming, Errc::overloaded);
    peer->token = answer.token;
    if (!with_memory([&] { by_token_.emplace(answer.token, peer); })) {
        reject(incoming, Errc::overloaded);
        return end_session(*peer, Errc::overloaded);
    }
    if (!na::send_greeting(incoming.stream, answer.encode())) return end_session(*peer, Errc::peer_lost);
    begin_session(*peer, std::move(incoming.stream), theirs);
}

void TcpPort::begin_session(TcpPeer& peer, na::Stream stream, const na::Hello& theirs) noexcept {
    na::tune(stream.fd(), options().keepalive);
    MessageLane* lane = lanes_.acquire();
    if (!lane || !lane->start(*this, peer, std::move(stream))) {
        if (lane) lanes_.release(*lane);
        return end_session(peer, Errc::overloaded);
    }
    peer.lane = lane;
    opened(peer, theirs);
    if (!peer.messages.empty()) output_.add_first(*lane);
    if (!peer.rma.empty()) want_bulk(peer);
}

void TcpPort::accept_lane(Incoming incoming) noexcept {
    const na::Hello& theirs = incoming.greeting.hello;
    const auto at = by_token_.find(incoming.greeting.token);
    TcpPeer* const peer = at == by_token_.end() || at->second->ending() ? nullptr : at->second;
    if (!peer) return reject(incoming, Errc::peer_lost);
    const bool fits = !peer->bulk && theirs.lane == static_cast<std::uint8_t>(LaneKind::bulk) &&
                      theirs.peer_incarnation == transport_.incarnation() &&
                      theirs.incarnation == peer->incarnation() && theirs.context == peer->remote_context() &&
                      same_identity(incoming.stream.identity(), peer->lane->identity());
    if (!fits) return reject(incoming, Errc::protocol);
    const Greeting answer{hello(na::HelloKind::accept, na::sender_of(theirs)), {}};
    if (!na::send_greeting(incoming.stream, answer.encode())) return end_session(*peer, Errc::peer_lost);
    begin_bulk(*peer, std::move(incoming.stream));
}

void TcpPort::begin_bulk(TcpPeer& peer, na::Stream stream) noexcept {
    na::tune(stream.fd(), options().keepalive);
    BulkLane* bulk = bulk_lanes_.acquire();
    if (!bulk || !bulk->start(*this, peer, std::move(stream))) {
        if (bulk) bulk_lanes_.release(*bulk);
        return end_session(peer, Errc::overloaded);
    }
    peer.bulk = bulk;
    peer.bulk_wanted = false;
    if (!peer.rma.empty()) output_.add(*bulk);
}

void TcpPort::want_bulk(TcpPeer& peer) noexcept {
    if (peer.bulk || peer.bulk_dial || peer.bulk_wanted || peer.ending()) return;
    if (peer.dialled) return dial(peer, LaneKind::bulk);
    peer.bulk_wanted = true;
    peer.lane->want_bulk();
}

void TcpPort::begin_dial(na::SessionPeer& peer) noexcept { dial(static_cast<TcpPeer&>(peer), LaneKind::messages); }

void TcpPort::dial(TcpPeer& peer, LaneKind lane) noexcept {
    Dial* dial = dials_.acquire();
    if (!dial) return end_session(peer, Errc::overloaded);
    if (lane == LaneKind::messages) {
        peer.dial = dial;
        return dial->start(*this, peer, lane, peer.targets.known, peer.targets.names);
    }
    peer.bulk_dial = dial;
    peer.bulk_target = SocketAddress::peer_of(peer.lane->fd());
    dial->start(*this, peer, lane, {&peer.bulk_target, 1}, {});
}

Greeting TcpPort::dial_greeting(const Dial& dial) const noexcept {
    const TcpPeer& peer = dial.peer();
    Greeting greeting;
    greeting.hello = hello(na::HelloKind::dial, peer.wanted());
    greeting.hello.lane = static_cast<std::uint8_t>(dial.purpose());
    if (dial.purpose() == LaneKind::messages) return greeting;
    greeting.hello.kind = na::HelloKind::lane;
    greeting.hello.peer_incarnation = peer.incarnation();
    greeting.hello.peer_context = peer.remote_context();
    greeting.token = peer.token;
    return greeting;
}

void TcpPort::dial_done(Dial& dial, Incoming answer) noexcept {
    TcpPeer& peer = dial.peer();
    const na::Hello& theirs = answer.greeting.hello;
    if (dial.purpose() == LaneKind::bulk) {
        drop_dial(dials_, peer.bulk_dial);
        if (theirs.kind != na::HelloKind::accept) return end_session(peer, Errc::peer_lost);
        return begin_bulk(peer, std::move(answer.stream));
    }
    drop_dial(dials_, peer.dial);
    if (const Errc why = peer.check_answer(theirs); why != Errc::ok) {
        if (why != Errc::permission || transport_.guards()) return end_session(peer, why);
        na::log_refused_without_guard(transport_.scheme(), answer.stream.fd(), "tcps");
        return end_session(peer, why, "takes protected connections only: reach it by tcps://");
    }
    peer.token = answer.greeting.token;
    peer.dialled = true;
    begin_session(peer, std::move(answer.stream), theirs);
}

void TcpPort::dial_failed(Dial& dial, Errc why) noexcept {
    TcpPeer& peer = dial.peer();
    const bool bulk = dial.purpose() == LaneKind::bulk;
    const char* const because = dial.failed_because(why);
    drop_dial(dials_, bulk ? peer.bulk_dial : peer.dial);
    end_session(peer, bulk ? Errc::peer_lost : why, because);
}

void TcpPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<TcpPeer&>(ending);
    peer.bulk_wanted = false;
    if (!peer.can_be_dialled()) by_token_.erase(peer.token);
    if (BulkLane* bulk = std::exchange(peer.bulk, nullptr)) {
        bulk->end(why);
        bulk_lanes_.release(*bulk);
    }
    if (MessageLane* lane = std::exchange(peer.lane, nullptr)) {
        lane->end();
        lanes_.release(*lane);
    }
    drop_dial(dials_, peer.dial);
    drop_dial(dials_, peer.bulk_dial);
}

}  // namespace cinnabar::tcp
