// SPDX-License-Identifier: BSD-3-Clause
// From sockets to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "channel.hpp"
#include "port.hpp"

#include <algorithm>

namespace cinnabar::shm {
namespace {

// Dials that may fail in a row before posts begin to fail without a dial.
constexpr std::uint32_t failures_free = 3;
constexpr TimeUs retry_us_max = 100'000;

// What an answer may say; anything else would reach the operations as nonsense.
Errc reason_of(const na::Hello& answer) noexcept {
    switch (const auto code = static_cast<Errc>(answer.reason); code) {
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::overloaded:
        case Errc::permission:
        case Errc::shutting_down:
            return code;
        default:
            return Errc::protocol;
    }
}

bool says_exists(const na::Hello& hello) noexcept { return hello.reason == static_cast<std::uint8_t>(Errc::exists); }

}  // namespace

na::Hello ShmPort::hello(na::HelloKind kind, const Identity& to) const noexcept {
    na::Hello hello;
    hello.kind = kind;
    hello.incarnation = transport_.incarnation();
    hello.peer_incarnation = to.incarnation;
    hello.context = host_.context_id();
    hello.peer_context = to.context;
    hello.message_bytes_max = static_cast<std::uint32_t>(transport_.limits().message_bytes_max);
    hello.credits = static_cast<std::uint16_t>(std::min<std::uint32_t>(host_.initial_credits(), 0xffff));
    return hello;
}

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
    na::Hello answer = hello(na::HelloKind::reject, {from.incarnation, from.context});
    answer.reason = static_cast<std::uint8_t>(why);
    (void)send_greeting(caller.fd.get(), answer, {}, nullptr);
}

void ShmPort::came_in(Caller caller) noexcept {
    const na::Hello& hello = caller.greeting.hello;
    const Identity who{hello.incarnation, hello.context};
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
    let_in(std::move(caller), dialled ? dialled : idle_peer(who));
}

// Both sides dial each other: the call of the larger identity stays.
ShmPeer* ShmPort::dialled_as(const Caller& caller) noexcept {
    if (dials_.taken() == 0) return nullptr;
    for (ShmPeer* peer = peers_.all().front(); peer; peer = PeerTable::All::next(*peer)) {
        if (peer->dial && !peer->ending && peer->dial->towards(caller)) return peer;
    }
    return nullptr;
}

// A peer of that identity without a session, which gets the new one.
ShmPeer* ShmPort::idle_peer(const Identity& who) noexcept {
    ShmPeer* found = nullptr;
    peers_.each_of(who, [&](ShmPeer& peer) {
        if (!peer.session && !peer.dial && !peer.ending) found = &peer;
    });
    return found;
}

void ShmPort::let_in(Caller caller, ShmPeer* peer) noexcept {
    const na::Hello from = caller.greeting.hello;
    const Identity who{from.incarnation, from.context};
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
        auto made = std::make_unique<ShmPeer>(*this, na::Addr::make_session("shm", who.context, who.incarnation),
                                              ListeningPlace());
        peer = made.get();
        peers_.add(std::move(made));
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
    peers_.identify(peer, {hello.incarnation, hello.context});
    peer.session = session;
    peer.failures = 0;
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
        peer.last_failure = why;
        return false;
    }
    if (peer.failures > failures_free && host_.now_us() < peer.retry_at) return false;
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
    if (hello.kind == na::HelloKind::reject) return end_session(peer, reason_of(hello));
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
    if (peer.ending) return;
    peer.ending = true;
    peer.ending_why = why;
    endings_.push_back(peer);
    fail_waiting(peer, why);  // what is posted from now on is for the next session
}

void ShmPort::session_over(ShmPeer& peer) noexcept {
    const Errc why = peer.ending_why;
    const bool was_connected = peer.session != nullptr;
    const bool asked = std::exchange(peer.ending_asked, false);
    peer.ending = false;
    if (Session* session = std::exchange(peer.session, nullptr)) {
        session->end(why);
        sessions_.release(*session);
    }
    drop_dial(peer);
    peer.set_idle();
    if (!was_connected && !asked) {
        peer.last_failure = why;
        ++peer.failures;
        const std::uint32_t doublings = std::min(peer.failures, 20u);
        peer.retry_at = host_.now_us() + std::min<TimeUs>(retry_us_max, TimeUs{100} << doublings);
    }
    host_.receiver().on_peer(peer, na::PeerEvent::lost, why);
    const bool wanted = !peer.messages.empty() || !peer.rma.empty();
    if (wanted && !peer.dial && !peer.ending && !connect(peer)) fail_waiting(peer, peer.last_failure);
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
