// SPDX-License-Identifier: BSD-3-Clause
// From sockets to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "channel.hpp"
#include "port.hpp"

#include <algorithm>

namespace cinnabar::shm {
namespace {

bool says_exists(const na::Hello& hello) noexcept { return hello.reason == static_cast<std::uint8_t>(Errc::exists); }

}  // namespace

Terms ShmPort::terms() const {
    Terms terms;
    terms.ring_bytes = transport_.ring_bytes();
    terms.record_bytes_max = transport_.record_bytes_max();
    terms.lease_slots = transport_.board().slots();
    terms.probe_address = reinterpret_cast<std::uintptr_t>(&transport_.probe_word());
    terms.probe_value = transport_.probe_word();
    terms.name = transport_.name();
    return terms;
}

OwnFds ShmPort::own_fds(int ring) const noexcept { return {ring, bell_.fd(), transport_.board().fd()}; }

void ShmPort::reject(const Caller& caller, Errc why) noexcept {
    const na::Hello& from = caller.greeting.hello;
    na::Hello answer = hello(na::HelloKind::reject, na::sender_of(from));
    answer.reason = static_cast<std::uint8_t>(why);
    (void)send_greeting(caller.fd.get(), answer, {}, nullptr);
}

void ShmPort::came_in(Caller caller) noexcept {
    const na::Hello& hello = caller.greeting.hello;
    const Identity who = na::sender_of(hello);
    if (hello.kind != na::HelloKind::dial || hung_up(caller.fd.get())) return;
    if (!accepting_) return reject(caller, Errc::shutting_down);
    if (hello.peer_incarnation != 0 && hello.peer_incarnation != transport_.incarnation()) {
        return reject(caller, Errc::peer_lost);
    }
    if (full()) return reject(caller, Errc::overloaded);
    if (ShmPeer* met = peers_.find(who); met && met->session) {
        // It may have come back before the end of its last connection was read here.
        met->session->on_ready(0);
        (void)settle();
    }
    ShmPeer* const dialled = says_exists(hello) || who == identity() ? nullptr : dialled_as(caller);
    if (dialled && who < identity()) return reject(caller, Errc::exists);
    if (dialled) drop_dial(*dialled);  // before the answer: the peer reads what it finds of that dial as given up
    let_in(std::move(caller), dialled ? dialled : peers_.find_idle(who));
}

// Both sides dial each other: the call of the larger identity stays.
ShmPeer* ShmPort::dialled_as(const Caller& caller) noexcept {
    if (dials_.taken() == 0) return nullptr;
    return peers_.find_if([&](const ShmPeer& peer) { return peer.dial && !peer.ending && peer.dial->towards(caller); });
}

void ShmPort::let_in(Caller caller, ShmPeer* peer) noexcept {
    const na::Hello from = caller.greeting.hello;
    const Identity who = na::sender_of(from);
    Channel channel;
    UniqueFd ring;
    Errc why = make_ring(transport_, channel.own_ring, ring);
    if (why == Errc::ok) why = open_channel(transport_, caller, channel);
    const OwnFds fds = own_fds(ring.get());
    if (why != Errc::ok) {
        reject(caller, why);
    } else if (!send_greeting(caller.fd.get(), hello(na::HelloKind::accept, who), terms(), &fds)) {
        why = Errc::peer_lost;
    }
    if (why != Errc::ok) {
        if (peer && peer->state() == na::PeerState::connecting) end_session(*peer, why);
        return;
    }
    channel.socket = std::move(caller.fd);
    if (!peer) {
        peer = &peers_.add(std::make_unique<ShmPeer>(*this, na::Addr::make_session("shm", who.context, who.incarnation),
                                                     ListeningPlace()));
    }
    begin_session(*peer, std::move(channel));
}

void ShmPort::begin_session(ShmPeer& peer, Channel channel) noexcept {
    const na::Hello hello = channel.hello;
    const bool copies = channel.copies;
    Session* session = sessions_.acquire();
    if (!session || !session->start(*this, peer, std::move(channel))) {
        if (session) sessions_.release(*session);
        return end_session(peer, Errc::overloaded);
    }
    transport_.count_session(copies);
    hot_.reserve(sessions_.taken());
    const bool restarted = peer.incarnation() != 0 && peer.incarnation() != hello.incarnation;
    peers_.identify(peer, na::sender_of(hello));
    peer.session = session;
    peer.backoff.succeeded();
    peer.set_connected(hello, static_cast<std::uint32_t>(transport_.limits().message_bytes_max));
    // Posted under the own limit; the peer's may be smaller.
    for (Posted* posted = peer.messages.front(); posted;) {
        Posted& now = *std::exchange(posted, PostedList::next(*posted));
        if (now.op->message_bytes <= peer.message_bytes_max()) continue;
        peer.messages.remove(now);
        end(now, Errc::too_large);
    }
    touched(*session);
    dirty(*session);
    if (restarted) host_.receiver().on_peer(peer, na::PeerEvent::restarted, Errc::ok);
    host_.receiver().on_peer(peer, na::PeerEvent::connected, Errc::ok);
}

bool ShmPort::connect(ShmPeer& peer) noexcept {
    Errc why = Errc::ok;
    if (!accepting_) why = Errc::closed;
    if (!peer.can_be_dialled()) why = Errc::unreachable;
    if (why == Errc::ok && full()) why = Errc::overloaded;
    if (why != Errc::ok) {
        peer.backoff.last_failure = why;
        return false;
    }
    if (!peer.backoff.may_dial(host_.now_us())) return false;
    dial(peer);
    return true;
}

void ShmPort::dial(ShmPeer& peer) noexcept {
    Dial* dial = dials_.acquire();
    if (!dial) return end_session(peer, Errc::overloaded);
    peer.dial = dial;
    peer.set_connecting();
    dial->start(*this, peer);
}

void ShmPort::drop_dial(ShmPeer& peer) noexcept {
    Dial* dial = std::exchange(peer.dial, nullptr);
    if (!dial) return;
    dial->abandon();
    dials_.release(*dial);
}

void ShmPort::dial_done(Dial& dial, Caller answer, Segment ring) noexcept {
    ShmPeer& peer = dial.peer();
    const na::Hello hello = answer.greeting.hello;
    const na::Incarnation wanted = peer.addr().body().incarnation;
    if (hello.kind == na::HelloKind::reject && says_exists(hello)) return dial.wait_for_call();
    drop_dial(peer);
    if (hello.kind == na::HelloKind::reject) return end_session(peer, na::rejection(hello));
    if (hello.kind != na::HelloKind::accept || hello.context != peer.remote_context()) {
        return end_session(peer, Errc::protocol);
    }
    if (wanted != 0 && hello.incarnation != wanted) return end_session(peer, Errc::peer_lost);
    Channel channel;
    channel.own_ring = std::move(ring);
    channel.socket = std::move(answer.fd);
    if (const Errc why = open_channel(transport_, answer, channel); why != Errc::ok) {
        return end_session(peer, why);
    }
    begin_session(peer, std::move(channel));
}

void ShmPort::dial_failed(Dial& dial, Errc why) noexcept {
    ShmPeer& peer = dial.peer();
    drop_dial(peer);
    end_session(peer, why);
}

void ShmPort::dial_again(Dial& dial) noexcept {
    ShmPeer& peer = dial.peer();
    drop_dial(peer);
    this->dial(peer);
}

void ShmPort::end_session(ShmPeer& peer, Errc why) noexcept {
    if (put_off_.end_session(peer, why)) fail_waiting(peer, why);  // what is posted from now on is for the next session
}

void ShmPort::session_over(ShmPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.session != nullptr;
    const bool asked = std::exchange(peer.ending_asked, false);
    if (Session* session = std::exchange(peer.session, nullptr)) {
        session->end(why);
        sessions_.release(*session);
    }
    drop_dial(peer);
    peer.set_idle();
    if (!was_connected && !asked) peer.backoff.failed(why, host_.now_us());
    host_.receiver().on_peer(peer, na::PeerEvent::lost, why);
    const bool wanted = !peer.messages.empty() || !peer.rma.empty();
    if (wanted && !peer.dial && !peer.ending && !connect(peer)) fail_waiting(peer, peer.backoff.last_failure);
    if (peer.references() == 0) unreferenced(peer);
}

void ShmPort::fail_waiting(ShmPeer& peer, Errc why) noexcept {
    while (Posted* posted = peer.messages.pop_front()) end(*posted, why);
    while (Posted* posted = peer.rma.pop_front()) end(*posted, why);
}

void ShmPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<ShmPeer&>(peer);
    if (own.ending || (!own.session && !own.dial)) return;
    own.ending_asked = true;
    end_session(own, Errc::peer_lost);
}

}  // namespace cinnabar::shm
