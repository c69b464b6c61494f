// SPDX-License-Identifier: BSD-3-Clause
// VerbsPort: how sessions begin and end.
#include "port.hpp"
#include "rdma_library.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::verbs {

Errc VerbsPort::session_limit() const noexcept {
    if (failure_.why() != Errc::ok) return failure_.why();
    return open_sessions_ >= transport_.limits().connections_max ? Errc::overloaded : Errc::ok;
}

void VerbsPort::accept(Incoming incoming) noexcept {
    Errc refused = refusal(incoming.greeting.hello);
    if (failure_.why() != Errc::ok) refused = Errc::unreachable;
    if (refused != Errc::ok) return incoming.reject(reject_hello(incoming.greeting.hello, refused));
    Session* const session = sessions_.acquire();
    if (session && session->accept(*this, incoming)) return;
    if (session) sessions_.release(*session);
    // The peer is told only `overloaded`: the log of this side names the cause.
    incoming.reject(reject_hello(incoming.greeting.hello, Errc::overloaded));
}

// A connection request does not tell which process made it, so it never counts as this process's own.
void VerbsPort::accept_done(Session& session) noexcept {
    const na::Identity identity = na::sender_of(session.greeting().hello);
    VerbsPeer* const peer = add_incoming([&] {
        const na::Addr addr =
            na::Addr::of_connection("verbs", host().context_id(), identity.context, identity.incarnation, false,
                                    session.remote_address().endpoint("verbs"));
        return std::make_unique<VerbsPeer>(*this, addr, transport_, na::DialTargets());
    });
    if (!peer) return discard(session, Errc::peer_lost);
    begin_session(*peer, session);
}

void VerbsPort::begin_session(VerbsPeer& peer, Session& session) noexcept {
    session.open(peer);
    ++open_sessions_;
    peer.session = &session;
    output_.add(session);
    liveness_.arm();
    opened(peer, session.greeting().hello);
    for (const ibv_wc& early : std::exchange(session.held, {})) arrivals_.deliver(session, early);
}

void VerbsPort::begin_dial(na::SessionPeer& peer) noexcept {
    Session* session = sessions_.acquire();
    if (!session) return end_session(peer, Errc::overloaded);
    auto& own = static_cast<VerbsPeer&>(peer);
    own.dial = session;
    session->dial(*this, own);
}

void VerbsPort::dial_done(Session& dialled) noexcept {
    VerbsPeer& peer = *dialled.peer();
    peer.dial = nullptr;
    const Errc why = peer.check_answer(dialled.greeting().hello);
    if (why == Errc::ok) return begin_session(peer, dialled);
    discard(dialled, why);
    end_session(peer, why);
}

void VerbsPort::dial_failed(Session& dialled, Errc why) noexcept {
    VerbsPeer& peer = *dialled.peer();
    peer.dial = nullptr;
    discard(dialled, why);
    end_session(peer, why);
}

void VerbsPort::send_no_more(Session& session) noexcept {
    output_.remove(session);
    room_.forget(session);
}

void VerbsPort::discard(Session& session, Errc why) noexcept {
    send_no_more(session);
    if (session.leave_unanswered()) return liveness_.drain(session);
    session.close(why);
    sessions_.release(session);
}

void VerbsPort::lost(Session& session, Errc why) noexcept {
    if (session.stage() == Stage::open) return end_session(*session.peer(), why);
    if (session.stage() == Stage::accepted) discard(session, Errc::peer_lost);
}

void VerbsPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<VerbsPeer&>(ending);
    if (Session* session = std::exchange(peer.session, nullptr)) {
        --open_sessions_;
        send_no_more(*session);
        session->drain(why);
        liveness_.drain(*session);
    }
    if (Session* const dial = std::exchange(peer.dial, nullptr)) discard(*dial, why);
}

}  // namespace cinnabar::verbs
