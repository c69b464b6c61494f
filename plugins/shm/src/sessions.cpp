// SPDX-License-Identifier: BSD-3-Clause
// From sockets to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "channel.hpp"
#include "port.hpp"

#include <cinnabar/na/session/sessions.hpp>

#include <unistd.h>

namespace cinnabar::shm {

// The board holds the keys of all leases, and whoever can write it can send those who believe it anywhere in this
// process: only one that could copy across address spaces anyway may have it.
Terms ShmPort::terms(const Credentials& peer) const {
    Terms terms;
    terms.ring_bytes = transport_.ring_bytes();
    terms.record_bytes_max = transport_.record_bytes_max();
    terms.name = transport_.name();
    if (!is_own_user(peer)) return terms;
    terms.lease_slots = transport_.board().slots();
    terms.probe_address = reinterpret_cast<std::uintptr_t>(&transport_.probe_word());
    terms.probe_value = transport_.probe_word();
    return terms;
}

OwnFds ShmPort::own_fds(int ring, const Credentials& peer) const noexcept {
    return {ring, bell_.fd(), is_own_user(peer) ? transport_.board().fd() : -1};
}

void ShmPort::reject(const Caller& caller, Errc why) noexcept {
    const na::Hello& from = caller.greeting.hello;
    na::Hello answer = hello(na::HelloKind::reject, na::sender_of(from));
    answer.reason = static_cast<std::uint8_t>(why);
    (void)send_greeting(caller.fd.get(), answer, {}, nullptr);
}

void ShmPort::came_in(Caller caller) noexcept {
    const na::Hello& hello = caller.greeting.hello;
    if (hello.kind != na::HelloKind::dial || hung_up(caller.fd.get())) return;
    const Errc refused = na::refusal(hello, transport_.incarnation(), accepting_, full());
    if (refused != Errc::ok) return reject(caller, refused);
    let_in(std::move(caller));
}

// A peer of its own, whoever it claims to be.
void ShmPort::let_in(Caller caller) noexcept {
    const na::Identity who = na::sender_of(caller.greeting.hello);
    Channel channel;
    UniqueFd ring;
    Errc why = make_ring(transport_, channel.own_ring, ring);
    if (why == Errc::ok) why = open_channel(transport_, caller, channel);
    if (why != Errc::ok) return reject(caller, why);
    const OwnFds fds = own_fds(ring.get(), caller.who);
    if (!send_greeting(caller.fd.get(), hello(na::HelloKind::accept, who), terms(caller.who), &fds)) return;
    channel.socket = std::move(caller.fd);
    // The kernel tells the process, which claims one of its transports.
    const bool own = caller.who.pid == ::getpid() && who.incarnation == transport_.incarnation();
    const std::string from =
        "shm of process " + std::to_string(caller.who.pid) + ", user " + std::to_string(caller.who.uid);
    ShmPeer& peer = peers_.add(std::make_unique<ShmPeer>(
        *this, na::Addr::of_connection("shm", who.context, who.incarnation, own, from), ListeningPlace()));
    begin_session(peer, std::move(channel));
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
    const bool restarted = na::restarted(peer, hello.incarnation);
    peer.session = session;
    peer.backoff.succeeded();
    peer.set_connected(hello, static_cast<std::uint32_t>(transport_.limits().message_bytes_max));
    na::end_too_large(*this, peer);
    touched(*session);
    dirty(*session);
    na::tell_connected(host_, peer, restarted);
}

bool ShmPort::connect(ShmPeer& peer) noexcept {
    if (!na::may_dial(peer, accepting_, full(), host_.now_us())) return false;
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
    drop_dial(peer);
    if (const Errc why = na::misfit(hello, peer); why != Errc::ok) return end_session(peer, why);
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

void ShmPort::end_session(ShmPeer& peer, Errc why) noexcept {
    if (put_off_.end_session(peer, why))
        na::fail_waiting(*this, peer, why);  // what is posted from now on is for the next session
}

void ShmPort::session_over(ShmPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.session != nullptr;
    const bool asked = std::exchange(peer.ending_asked, false);
    if (Session* session = std::exchange(peer.session, nullptr)) {
        session->end(why);
        sessions_.release(*session);
    }
    drop_dial(peer);
    na::session_ended(*this, peer, why, !was_connected && !asked, [this](ShmPeer& lost) { return connect(lost); });
}

void ShmPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<ShmPeer&>(peer);
    if (own.ending || (!own.session && !own.dial)) return;
    own.ending_asked = true;
    end_session(own, Errc::peer_lost);
}

}  // namespace cinnabar::shm
