// SPDX-License-Identifier: BSD-3-Clause
// From sockets to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "port.hpp"

#include <cinnabar/na/session/sessions.hpp>

#include <algorithm>

namespace cinnabar::tcp {

void TcpPort::reject(int fd, const na::Hello& from, Errc why) noexcept {
    Greeting answer;
    answer.hello = hello(na::HelloKind::reject, na::sender_of(from));
    answer.hello.reason = static_cast<std::uint8_t>(why);
    (void)send_greeting(fd, answer);
}

void TcpPort::came_in(Handover newcomer) noexcept {
    switch (newcomer.greeting.hello.kind) {
        case na::HelloKind::dial:
            return session_came_in(std::move(newcomer));
        case na::HelloKind::lane:
            return lane_came_in(std::move(newcomer));
        default:
            return;  // an answer to nothing: dropped
    }
}

// A peer of its own, whoever it claims to be.
void TcpPort::session_came_in(Handover newcomer) noexcept {
    const na::Hello& theirs = newcomer.greeting.hello;
    const na::Identity who = na::sender_of(theirs);
    const Errc refused = na::refusal(theirs, transport_.incarnation(), accepting_, full());
    if (refused != Errc::ok) return reject(newcomer.fd.get(), theirs, refused);
    const bool own = transport_.own_dials().dialled(newcomer.fd.get());
    const Greeting answer{hello(na::HelloKind::accept, who), random_token()};
    if (!send_greeting(newcomer.fd.get(), answer)) return;
    na::Addr addr = na::Addr::of_connection("tcp", who.context, who.incarnation, own,
                                            SocketAddress::peer_of(newcomer.fd.get()).endpoint("tcp"));
    TcpPeer& peer = peers_.add(std::make_unique<TcpPeer>(*this, std::move(addr), na::Places()));
    begin_session(peer, std::move(newcomer.fd),
                  {who.incarnation, theirs.message_bytes_max, theirs.credits, answer.token, false});
}

void TcpPort::begin_session(TcpPeer& peer, UniqueFd fd, const SessionTerms& terms) noexcept {
    na::tune(fd.get(), options().keepalive);
    MessageLane* lane = lanes_.acquire();
    if (!lane || !lane->start(*this, peer, std::move(fd))) {
        if (lane) lanes_.release(*lane);
        return end_session(peer, Errc::overloaded);
    }
    const bool restarted = na::restarted(peer, terms.incarnation);
    peer.lane = lane;
    if (!terms.dialled) by_token_.emplace(terms.token, &peer);
    peer.backoff.succeeded();
    peer.set_connected(terms, static_cast<std::uint32_t>(options().message_bytes_max));
    na::end_too_large(*this, peer);
    if (!peer.messages.empty()) dirty(*lane);
    if (!peer.rma.empty()) want_bulk(peer);
    na::tell_connected(host_, peer, restarted);
}

void TcpPort::lane_came_in(Handover newcomer) noexcept {
    const na::Hello& theirs = newcomer.greeting.hello;
    const auto at = by_token_.find(newcomer.greeting.token);
    TcpPeer* const owner = at == by_token_.end() || at->second->ending ? nullptr : at->second;
    if (!owner) return reject(newcomer.fd.get(), theirs, Errc::peer_lost);
    const bool fits = !owner->bulk && theirs.lane == static_cast<std::uint8_t>(Lane::bulk) &&
                      theirs.peer_incarnation == transport_.incarnation() &&
                      theirs.incarnation == owner->incarnation() && theirs.context == owner->remote_context();
    if (!fits) return reject(newcomer.fd.get(), theirs, Errc::protocol);
    const Greeting answer{hello(na::HelloKind::accept, na::sender_of(theirs)), {}};
    if (!send_greeting(newcomer.fd.get(), answer)) return end_session(*owner, Errc::peer_lost);
    begin_bulk(*owner, std::move(newcomer.fd));
}

void TcpPort::begin_bulk(TcpPeer& peer, UniqueFd fd) noexcept {
    na::tune(fd.get(), options().keepalive);
    BulkLane* bulk = bulk_lanes_.acquire();
    if (!bulk || !bulk->start(*this, peer, std::move(fd))) {
        if (bulk) bulk_lanes_.release(*bulk);
        return end_session(peer, Errc::overloaded);
    }
    peer.bulk = bulk;
    peer.bulk_wanted = false;
    if (!peer.rma.empty()) dirty(*bulk);
}

void TcpPort::want_bulk(TcpPeer& peer) noexcept {
    if (peer.bulk || peer.bulk_dial || peer.bulk_wanted || peer.ending) return;
    if (peer.terms.dialled) return dial(peer, Lane::bulk);
    peer.bulk_wanted = true;
    peer.lane->want_bulk();
}

void TcpPort::dial(TcpPeer& peer, Lane lane) noexcept {
    Dial* dial = dials_.acquire();
    if (!dial) return end_session(peer, Errc::overloaded);
    (lane == Lane::bulk ? peer.bulk_dial : peer.dial) = dial;
    if (lane == Lane::messages) peer.set_connecting();
    dial->start(*this, peer, lane);
}

bool TcpPort::connect(TcpPeer& peer) noexcept {
    if (!na::may_dial(peer, accepting_, full(), host_.now_us())) return false;
    dial(peer, Lane::messages);
    return true;
}

void TcpPort::dial_done(Dial& dial, UniqueFd fd, const Greeting& answer) noexcept {
    TcpPeer& peer = dial.peer();
    const Lane lane = dial.lane();
    (lane == Lane::bulk ? peer.bulk_dial : peer.dial) = nullptr;
    dial.abandon();
    dials_.release(dial);
    if (lane == Lane::messages) {
        session_dialled(peer, std::move(fd), answer);
    } else if (answer.hello.kind == na::HelloKind::accept) {
        begin_bulk(peer, std::move(fd));
    } else {
        end_session(peer, Errc::peer_lost);
    }
}

void TcpPort::session_dialled(TcpPeer& peer, UniqueFd fd, const Greeting& answer) noexcept {
    const na::Hello& theirs = answer.hello;
    if (const Errc why = na::misfit(theirs, peer); why != Errc::ok) return end_session(peer, why);
    begin_session(peer, std::move(fd),
                  {theirs.incarnation, theirs.message_bytes_max, theirs.credits, answer.token, true});
}

void TcpPort::dial_failed(Dial& dial, Errc why) noexcept {
    TcpPeer& peer = dial.peer();
    const Lane lane = dial.lane();
    (lane == Lane::bulk ? peer.bulk_dial : peer.dial) = nullptr;
    dial.abandon();
    dials_.release(dial);
    end_session(peer, lane == Lane::bulk ? Errc::peer_lost : why);
}

void TcpPort::end_session(TcpPeer& peer, Errc why) noexcept {
    if (put_off_.end_session(peer, why))
        na::fail_waiting(*this, peer, why);  // what is posted from now on is for the next session
}

void TcpPort::session_over(TcpPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.lane != nullptr;
    peer.bulk_wanted = false;
    forget_token(peer);
    if (BulkLane* bulk = std::exchange(peer.bulk, nullptr)) {
        bulk->end(why);
        bulk_lanes_.release(*bulk);
    }
    if (MessageLane* lane = std::exchange(peer.lane, nullptr)) {
        lane->end();
        lanes_.release(*lane);
    }
    for (Dial** dial : {&peer.dial, &peer.bulk_dial}) {
        if (!*dial) continue;
        (*dial)->abandon();
        dials_.release(**dial);
        *dial = nullptr;
    }
    na::session_ended(*this, peer, why, !was_connected, [this](TcpPeer& lost) { return connect(lost); });
}

void TcpPort::forget_token(const TcpPeer& peer) noexcept {
    if (!peer.can_be_dialled()) by_token_.erase(peer.terms.token);
}

void TcpPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<TcpPeer&>(peer);
    if (own.lane || own.dial) end_session(own, Errc::peer_lost);
}

void TcpPort::stop_accepting() noexcept { accepting_ = false; }

}  // namespace cinnabar::tcp
