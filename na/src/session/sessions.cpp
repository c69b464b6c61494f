// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/sessions.hpp>

namespace cinnabar::na {

Errc refusal(const Hello& hello, Incarnation own, bool accepting, bool full) noexcept {
    if (!accepting) return Errc::shutting_down;
    if (hello.peer_incarnation != 0 && hello.peer_incarnation != own) return Errc::peer_lost;
    return full ? Errc::overloaded : Errc::ok;
}

Errc misfit(const Hello& answer, const SessionPeer& peer) noexcept {
    const Incarnation wanted = peer.addr().body().incarnation;
    if (answer.kind == HelloKind::reject) return rejection(answer);
    if (answer.kind != HelloKind::accept || answer.context != peer.remote_context()) return Errc::protocol;
    return wanted != 0 && answer.incarnation != wanted ? Errc::peer_lost : Errc::ok;
}

bool may_dial(SessionPeer& peer, bool accepting, bool full, TimeUs now) noexcept {
    Errc why = Errc::ok;
    if (!accepting) why = Errc::closed;
    if (!peer.can_be_dialled()) why = Errc::unreachable;
    if (why == Errc::ok && full) why = Errc::overloaded;
    if (why == Errc::ok) return peer.backoff.may_dial(now);
    peer.backoff.last_failure = why;
    return false;
}

void tell_connected(PortHost& host, SessionPeer& peer, bool restarted) noexcept {
    if (restarted) host.receiver().on_peer(peer, PeerEvent::restarted, Errc::ok);
    host.receiver().on_peer(peer, PeerEvent::connected, Errc::ok);
}

}  // namespace cinnabar::na
