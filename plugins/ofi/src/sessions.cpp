// SPDX-License-Identifier: BSD-3-Clause
// From sockets to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/sessions.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <string>

namespace cinnabar::ofi {
namespace {

// A dial that was given up since it greeted.
bool hung_up(int fd) noexcept {
    std::byte one{};
    const ssize_t seen = ::recv(fd, &one, 1, MSG_PEEK | MSG_DONTWAIT);
    return seen == 0 || (seen < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

Card OfiPort::card(const na::Hello& hello, const Session* session) const noexcept {
    Card card;
    card.hello = hello;
    if (session) card.session = session->name();
    card.set_provider(provider().name);
    const ConstBytes address = endpoint_->address();
    card.address_bytes = static_cast<std::uint16_t>(address.size());
    std::copy(address.begin(), address.end(), card.address.begin());
    return card;
}

void OfiPort::reject(const Caller& caller, Errc why) noexcept {
    na::Hello answer = hello(na::HelloKind::reject, na::sender_of(caller.card.hello));
    answer.reason = static_cast<std::uint8_t>(why);
    (void)send_card(caller.fd.get(), card(answer, nullptr));
}

void OfiPort::came_in(Caller caller) noexcept {
    const na::Hello& hello = caller.card.hello;
    if (hello.kind != na::HelloKind::dial || hung_up(caller.fd.get())) return;
    const Errc refused = na::refusal(hello, transport_.incarnation(), accepting_, full());
    if (refused != Errc::ok) return reject(caller, refused);
    if (caller.card.provider() != provider().name) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::info, "ofi: somebody on %s called, this is %s: turned away",
                    std::string(caller.card.provider()).c_str(), provider().name);
        return reject(caller, Errc::unreachable);
    }
    let_in(std::move(caller));
}

// A peer of its own, whoever it claims to be.
void OfiPort::let_in(Caller caller) noexcept {
    const na::Identity who = na::sender_of(caller.card.hello);
    Session* session = sessions_.acquire();
    if (!session) return reject(caller, Errc::overloaded);
    session->reserve(*this);
    const bool own = transport_.own_dials().dialled(caller.fd.get());
    if (!send_card(caller.fd.get(), card(hello(na::HelloKind::accept, who), session))) return session->end_reserved();
    na::Addr addr = na::Addr::of_connection(transport_.scheme(), who.context, who.incarnation, own,
                                            SocketAddress::peer_of(caller.fd.get()).endpoint(transport_.scheme()));
    OfiPeer& peer = peers_.add(std::make_unique<OfiPeer>(*this, std::move(addr), na::Places()));
    peer.session = session;
    peer.set_connecting();
    const Errc why = session->begin(peer, std::move(caller.fd), caller.card, false);
    if (why != Errc::ok) end_session(peer, why);
}

void OfiPort::session_open(Session& session, const na::Hello& hello) noexcept {
    OfiPeer& peer = session.peer();
    const bool restarted = na::restarted(peer, hello.incarnation);
    peer.backoff.succeeded();
    peer.set_connected(hello, static_cast<std::uint32_t>(options().message_bytes_max));
    na::end_too_large(*this, peer);
    dirty(session);
    na::tell_connected(host_, peer, restarted);
}

bool OfiPort::connect(OfiPeer& peer) noexcept {
    if (!na::may_dial(peer, accepting_, full(), host_.now_us())) return false;
    dial(peer);
    return true;
}

void OfiPort::dial(OfiPeer& peer) noexcept {
    Session* session = sessions_.acquire();
    Dial* dial = session ? dials_.acquire() : nullptr;
    if (!dial) {
        if (session) sessions_.release(*session);
        return end_session(peer, Errc::overloaded);
    }
    session->reserve(*this);
    peer.dial = dial;
    peer.set_connecting();
    dial->start(*this, peer, *session);
}

void OfiPort::drop_dial(OfiPeer& peer) noexcept {
    Dial* dial = std::exchange(peer.dial, nullptr);
    if (!dial) return;
    dial->session().end_reserved();
    dial->give_up();
    dials_.release(*dial);
}

void OfiPort::dial_done(Dial& dial, UniqueFd fd, const Card& answer) noexcept {
    OfiPeer& peer = dial.peer();
    Session& session = dial.session();
    const na::Hello& hello = answer.hello;
    Errc why = na::misfit(hello, peer);
    if (why != Errc::ok) {
        drop_dial(peer);
        return end_session(peer, why);
    }
    peer.dial = nullptr;
    dial.give_up();
    dials_.release(dial);
    peer.session = &session;
    why = session.begin(peer, std::move(fd), answer, true);
    if (why != Errc::ok) end_session(peer, why);
}

void OfiPort::dial_failed(Dial& dial, Errc why) noexcept {
    OfiPeer& peer = dial.peer();
    drop_dial(peer);
    end_session(peer, why);
}

void OfiPort::end_session(OfiPeer& peer, Errc why) noexcept {
    if (put_off_.end_session(peer, why))
        na::fail_waiting(*this, peer, why);  // what is posted from now on is for the next session
}

void OfiPort::session_over(OfiPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.state() == na::PeerState::connected;
    const bool asked = std::exchange(peer.ending_asked, false);
    if (Session* session = std::exchange(peer.session, nullptr)) session->end(why);
    drop_dial(peer);
    na::session_ended(*this, peer, why, !was_connected && !asked, [this](OfiPeer& lost) { return connect(lost); });
}

void OfiPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<OfiPeer&>(peer);
    if (own.ending || (!own.session && !own.dial)) return;
    own.ending_asked = true;
    end_session(own, Errc::peer_lost);
}

}  // namespace cinnabar::ofi
