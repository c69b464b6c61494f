// SPDX-License-Identifier: BSD-3-Clause
// SealedPort: how sessions begin and end.
#include "sealed/port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/reflected_dial.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::tls {
namespace {

void turn_down(SealedSession& session, const na::Hello& theirs, Errc why) noexcept {
    (void)session.greet(na::HelloKind::reject, session.port().reject_hello(theirs, why), 0);
    session.leave();
}

}  // namespace

Result<std::unique_ptr<na::SessionPeer>> SealedPort::make_peer(const na::Addr& addr) {
    if (closed()) return Error(Errc::closed, "the context is closed", addr.to_string());
    CINNABAR_TRY(const na::Addr there, transport_.below_of(addr));
    CINNABAR_TRY(na::Peer* const below, below_->peer(there));
    // Two addresses mean the same peer if they mean the same peer of the transport below.
    std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(below));
    return std::unique_ptr<na::SessionPeer>(
        std::make_unique<SealedPeer>(*this, addr, transport_, *below, std::move(key)));
}

void SealedPort::begin_dial(na::SessionPeer& peer) noexcept {
    auto& own = static_cast<SealedPeer&>(peer);
    own.below()->upper = &own.link;
    // The peer below is connected, although no session here uses it: a session is just ending, or a message that was
    // sent after the end of a session has made the transport below dial again.
    if (own.below()->state() != na::PeerState::idle) {
        own.link.closing = true;
        below_->disconnect(*own.below());
    }
    if (own.link.closing) {
        own.link.dial_waits = true;
    } else {
        start_dial(own);
    }
}

void SealedPort::start_dial(SealedPeer& peer) noexcept {
    SealedSession* const session = sessions_.acquire();
    if (!session) return end_session(peer, Errc::overloaded);
    session->dial(*this, peer);
}

void SealedPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<SealedPeer&>(ending);
    peer.link.dial_waits = false;
    if (peer.session) peer.session->end(why);
}

void SealedPort::accept(na::Peer& below) noexcept {
    if (pending_.full()) {
        if (SealedSession* const dropped = pending_.to_drop()) dropped->end(Errc::overloaded);
    }
    SealedSession* const session = sessions_.acquire();
    PendingProof* const pending =
        session ? pending_.enter(*session, source_of_endpoint(below.addr().body().from)) : nullptr;
    if (pending) return session->accept(*this, below, *pending);
    if (session) sessions_.release(*session);
    na::log_connection_dropped(transport_);
    below_->disconnect(below);
}

void SealedPort::answered(SealedSession& session, const SealedGreeting& theirs, Errc wrong) noexcept {
    SealedPeer& peer = session.peer();
    transport_.self_dial_numbers().remove(session.dial_number());
    const Errc why = wrong == Errc::ok ? peer.check_answer(theirs.hello) : wrong;
    if (why != Errc::ok) return end_session(peer, why);
    (void)peer.step(na::SessionEvent::greeted);
    session.begin(peer);
    opened(peer, theirs.hello);
    output_.add(session);
}

void SealedPort::greeted(SealedSession& session, const SealedGreeting& theirs, Errc wrong) noexcept {
    if (session.has_peer()) return answered(session, theirs, wrong);
    const na::Hello& hello_in = theirs.hello;
    if (wrong != Errc::ok && wrong != Errc::unsupported) return session.fail(wrong);
    if (hello_in.kind != na::HelloKind::dial) return session.fail(Errc::protocol);
    if (wrong != Errc::ok) return turn_down(session, hello_in, wrong);
    if (const Errc refused = refusal(hello_in); refused != Errc::ok) return turn_down(session, hello_in, refused);
    const na::AddrBody& from = session.below().addr().body();
    // The connection below named its context unencrypted, so the context is checked again.
    if (hello_in.peer_context != na::any_context && hello_in.peer_context != host().context_id())
        return turn_down(session, hello_in, Errc::unreachable);
    const na::ProvenIdentity& proven = session.guard()->identity();
    const bool own = from.own || transport_.self_dial_numbers().has(theirs.number);
    if (!own && na::is_reflected(hello_in, &proven, transport_.incarnation())) {
        static constinit LogLimit lines;
        const std::string_view scheme = transport_.scheme();
        log_limited(lines, LogLevel::warning, LogModule::named(scheme),
                    {peer_field(from.from), transport_field(scheme), error_field(Errc::permission)},
                    "rejected a connection of this process to itself, redirected on the way (%s)", from.from.c_str());
        return turn_down(session, hello_in, Errc::permission);
    }
    const na::Identity identity = na::sender_of(hello_in);
    SealedPeer* const peer = add_incoming([&] {
        const std::size_t host_at = std::min(from.from.find("://"), from.from.size());
        const na::Addr addr = na::Addr::of_connection(
            transport_.scheme(), host().context_id(), identity.context, identity.incarnation, own,
            std::string(transport_.scheme()) + from.from.substr(host_at), from.process, proven);
        return std::make_unique<SealedPeer>(*this, addr, transport_);
    });
    if (!peer) return turn_down(session, hello_in, Errc::overloaded);
    session.begin(*peer);
    if (!session.greet(na::HelloKind::accept, hello(na::HelloKind::accept, identity), 0))
        return end_session(*peer, Errc::overloaded);
    opened(*peer, hello_in);
    output_.add(session);
}

}  // namespace cinnabar::tls
