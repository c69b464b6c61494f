// SPDX-License-Identifier: BSD-3-Clause
// From sockets to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "port.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/sessions.hpp>

#include <algorithm>

namespace cinnabar::tcp {
namespace {

void reject(TcpPort& port, UniqueFd fd, const na::Hello& hello, Errc why) noexcept {
    na::Hello answer = port.hello(na::HelloKind::reject, na::sender_of(hello));
    answer.reason = static_cast<std::uint8_t>(why);
    (void)send_hello(fd.get(), answer);
}

}  // namespace

void TcpPort::came_in(UniqueFd fd, const na::Hello& hello) noexcept {
    switch (hello.kind) {
        case na::HelloKind::dial:
            return session_came_in(std::move(fd), hello);
        case na::HelloKind::lane:
            return lane_came_in(std::move(fd), hello);
        default:
            return;  // an answer to nothing: dropped
    }
}

void TcpPort::session_came_in(UniqueFd fd, const na::Hello& hello) noexcept {
    const Identity who = na::sender_of(hello);
    const Errc refused = na::refusal(hello, transport_.incarnation(), accepting_, full());
    if (refused != Errc::ok) return reject(*this, std::move(fd), hello, refused);
    const bool separate = na::says_exists(hello);
    const auto token = static_cast<std::uint32_t>(secret_u64());
    if (const TcpPeer* met = peers_.find(who); met && met->lane && !separate) {
        // It may have come back before the end of its last connection was read here.
        (void)met->lane->receive();
        (void)settle();
        met = peers_.find(who);
        if (met && met->lane && met->terms.dialled && who < identity()) {
            return reject(*this, std::move(fd), hello, Errc::exists);
        }
    }
    if (!separate && meetings_.take(fd, hello, token)) return;
    let_in(std::move(fd), hello, token, false);
}

void TcpPort::let_in(UniqueFd fd, const na::Hello& hello, std::uint32_t token, bool accepted) noexcept {
    const Identity who = na::sender_of(hello);
    if (!accepted) {
        na::Hello answer = this->hello(na::HelloKind::accept, who);
        answer.nonce = token;
        if (!send_hello(fd.get(), answer)) return;
    }
    TcpPeer* peer = peers_.find_idle(who);
    if (!peer) {
        peer = &peers_.add(std::make_unique<TcpPeer>(*this, na::Addr::make_session("tcp", who.context, who.incarnation),
                                                     std::vector<SocketAddress>()));
    }
    begin_session(*peer, std::move(fd), {who, hello.message_bytes_max, hello.credits, token, false});
}

void TcpPort::begin_session(TcpPeer& peer, UniqueFd fd, const SessionTerms& terms) noexcept {
    na::tune(fd.get(), options().keepalive);
    MessageLane* lane = lanes_.acquire();
    if (!lane || !lane->start(*this, peer, std::move(fd))) {
        if (lane) lanes_.release(*lane);
        return end_session(peer, Errc::overloaded);
    }
    const bool restarted = na::restarted(peer, terms.identity.incarnation);
    peers_.identify(peer, terms.identity);
    peer.lane = lane;
    peer.backoff.succeeded();
    peer.set_connected(terms, static_cast<std::uint32_t>(options().message_bytes_max));
    na::end_too_large(*this, peer);
    if (!peer.messages.empty()) dirty(*lane);
    if (!peer.rma.empty()) want_bulk(peer);
    na::tell_connected(host_, peer, restarted);
}

void TcpPort::lane_came_in(UniqueFd fd, const na::Hello& hello) noexcept {
    const Identity who = na::sender_of(hello);
    TcpPeer* owner = peers_.find_if(who, [&](const TcpPeer& peer) {
        return peer.lane && !peer.ending && !peer.terms.dialled && peer.terms.token == hello.nonce;
    });
    const bool fits = owner && !owner->bulk && hello.lane == static_cast<std::uint8_t>(Lane::bulk) &&
                      hello.peer_incarnation == transport_.incarnation();
    if (!fits) return reject(*this, std::move(fd), hello, owner ? Errc::protocol : Errc::peer_lost);
    if (!send_hello(fd.get(), this->hello(na::HelloKind::accept, who))) return end_session(*owner, Errc::peer_lost);
    begin_bulk(*owner, std::move(fd));
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
    if (peer.terms.dialled) return dial(peer, Lane::bulk, false);
    peer.bulk_wanted = true;
    peer.lane->want_bulk();
}

void TcpPort::dial(TcpPeer& peer, Lane lane, bool separate) noexcept {
    Dial* dial = dials_.acquire();
    if (!dial) return end_session(peer, Errc::overloaded);
    (lane == Lane::bulk ? peer.bulk_dial : peer.dial) = dial;
    if (lane == Lane::messages) peer.set_connecting();
    dial->start(*this, peer, lane, separate);
}

bool TcpPort::connect(TcpPeer& peer) noexcept {
    if (!na::may_dial(peer, accepting_, full(), host_.now_us())) return false;
    dial(peer, Lane::messages, false);
    return true;
}

void TcpPort::dial_done(Dial& dial, UniqueFd fd, const na::Hello& answer) noexcept {
    TcpPeer& peer = dial.peer();
    const bool separate = dial.separate();
    const Lane lane = dial.lane();
    (lane == Lane::bulk ? peer.bulk_dial : peer.dial) = nullptr;
    dial.abandon();
    dials_.release(dial);
    if (lane == Lane::messages) {
        session_dialled(peer, std::move(fd), answer, separate);
        meetings_.dial_ended();
    } else if (answer.kind == na::HelloKind::accept) {
        begin_bulk(peer, std::move(fd));
    } else {
        end_session(peer, Errc::peer_lost);
    }
}

void TcpPort::session_dialled(TcpPeer& peer, UniqueFd fd, const na::Hello& answer, bool was_separate) noexcept {
    const Identity who = na::sender_of(answer);
    if (answer.kind == na::HelloKind::reject && na::says_exists(answer) && !was_separate) {
        if (!meetings_.met(peer, who)) dial(peer, Lane::messages, true);
        return;
    }
    if (const Errc why = na::misfit(answer, peer); why != Errc::ok) return end_session(peer, why);
    begin_session(peer, std::move(fd), {who, answer.message_bytes_max, answer.credits, answer.nonce, true});
    meetings_.dial_succeeded(who);
}

void TcpPort::dial_failed(Dial& dial, Errc why) noexcept {
    TcpPeer& peer = dial.peer();
    const Lane lane = dial.lane();
    (lane == Lane::bulk ? peer.bulk_dial : peer.dial) = nullptr;
    dial.abandon();
    dials_.release(dial);
    end_session(peer, lane == Lane::bulk ? Errc::peer_lost : why);
    if (lane == Lane::messages) meetings_.dial_ended();
}

void TcpPort::end_session(TcpPeer& peer, Errc why) noexcept {
    if (put_off_.end_session(peer, why))
        na::fail_waiting(*this, peer, why);  // what is posted from now on is for the next session
}

void TcpPort::session_over(TcpPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.lane != nullptr;
    peer.bulk_wanted = false;
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

void TcpPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<TcpPeer&>(peer);
    if (own.lane || own.dial) end_session(own, Errc::peer_lost);
}

void TcpPort::stop_accepting() noexcept { accepting_ = false; }

}  // namespace cinnabar::tcp
