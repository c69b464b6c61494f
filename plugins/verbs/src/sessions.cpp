// SPDX-License-Identifier: BSD-3-Clause
// VerbsPort: how sessions begin and end.
#include "port.hpp"
#include "rdma_library.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::verbs {

Errc VerbsPort::session_limit() const noexcept {
    if (failure_.why() != Errc::ok) return failure_.why();
    return sessions_ >= transport_.limits().connections_max ? Errc::overloaded : Errc::ok;
}

void VerbsPort::accept(Incoming incoming) noexcept {
    Errc refused = refusal(incoming.greeting.hello);
    if (failure_.why() != Errc::ok) refused = Errc::unreachable;
    if (refused != Errc::ok) return incoming.reject(reject_hello(incoming.greeting.hello, refused));
    Connection* const connection = connections_.acquire();
    if (connection && connection->accept(*this, incoming)) return;
    if (connection) connections_.release(*connection);
    // The peer is told only `overloaded`: the log of this side names the cause.
    incoming.reject(reject_hello(incoming.greeting.hello, Errc::overloaded));
}

// A connection request does not tell which process made it, so it never counts as this process's own.
void VerbsPort::accept_done(Connection& connection) noexcept {
    const na::Identity identity = na::sender_of(connection.greeting().hello);
    VerbsPeer* const peer = add_incoming([&] {
        const na::Addr addr =
            na::Addr::of_connection("verbs", host().context_id(), identity.context, identity.incarnation, false,
                                    connection.remote_address().endpoint("verbs"));
        return std::make_unique<VerbsPeer>(*this, addr, transport_, na::DialTargets());
    });
    if (!peer) return discard(connection, Errc::peer_lost);
    begin_session(*peer, connection);
}

void VerbsPort::begin_session(VerbsPeer& peer, Connection& connection) noexcept {
    connection.open(peer);
    ++sessions_;
    peer.connection = &connection;
    dirty(connection);
    liveness_.arm();
    opened(peer, connection.greeting().hello);
    for (const ibv_wc& early : std::exchange(connection.held, {})) arrivals_.deliver(connection, early);
}

void VerbsPort::begin_dial(na::SessionPeer& peer) noexcept {
    Connection* connection = connections_.acquire();
    if (!connection) return end_session(peer, Errc::overloaded);
    auto& own = static_cast<VerbsPeer&>(peer);
    own.dial = connection;
    connection->dial(*this, own);
}

void VerbsPort::dial_done(Connection& dialled) noexcept {
    VerbsPeer& peer = *dialled.peer();
    peer.dial = nullptr;
    const Errc why = peer.check_answer(dialled.greeting().hello);
    if (why == Errc::ok) return begin_session(peer, dialled);
    discard(dialled, why);
    end_session(peer, why);
}

void VerbsPort::dial_failed(Connection& dialled, Errc why) noexcept {
    VerbsPeer& peer = *dialled.peer();
    peer.dial = nullptr;
    discard(dialled, why);
    end_session(peer, why);
}

void VerbsPort::send_no_more(Connection& connection) noexcept {
    if (Connections::linked(connection)) dirty_.remove(connection);
    room_.forget(connection);
}

void VerbsPort::discard(Connection& connection, Errc why) noexcept {
    send_no_more(connection);
    if (connection.leave_unanswered()) return liveness_.drain(connection);
    connection.close(why);
    connections_.release(connection);
}

void VerbsPort::lost(Connection& connection, Errc why) noexcept {
    if (connection.stage() == Stage::open) return end_session(*connection.peer(), why);
    if (connection.stage() == Stage::accepted) discard(connection, Errc::peer_lost);
}

void VerbsPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<VerbsPeer&>(ending);
    if (Connection* connection = std::exchange(peer.connection, nullptr)) {
        --sessions_;
        send_no_more(*connection);
        connection->drain(why);
        liveness_.drain(*connection);
    }
    if (Connection* const dial = std::exchange(peer.dial, nullptr)) discard(*dial, why);
}

}  // namespace cinnabar::verbs
