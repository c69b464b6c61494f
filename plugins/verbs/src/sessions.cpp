// SPDX-License-Identifier: BSD-3-Clause
// From connections to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "own_queue_pairs.hpp"
#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::verbs {

void VerbsPort::hand_over(Incoming incoming) noexcept {
    inbox_.put(std::move(incoming));
    host_.wake();
}

unsigned VerbsPort::take_inbox() noexcept {
    unsigned did = 0;
    for (Incoming& incoming : inbox_.take_all()) came_in(std::move(incoming)), ++did;
    return did;
}

void VerbsPort::cm_ready() noexcept {
    constexpr unsigned events_max = 64;  // in one go
    CmNews news;
    for (unsigned i = 0; i < events_max && next_event(channel_.get(), news); ++i) {
        // An id that waits for its answer belongs to no connection.
        if (auto* connection = static_cast<Connection*>(news.id->context)) connection->on_cm_event(news);
    }
    (void)settle();
}

// The device's context is shared by all transports of the process on that device: an event goes to whoever it names.
void VerbsPort::device_ready() noexcept {
    ibv_async_event event{};
    while (::ibv_get_async_event(device().context(), &event) == 0) {
        switch (event.event_type) {
            case IBV_EVENT_QP_FATAL:
            case IBV_EVENT_QP_REQ_ERR:
            case IBV_EVENT_QP_ACCESS_ERR: {
                // The queue pair, and with it the connection, cannot go before the event is acknowledged.
                Connection* const connection = OwnQueuePairs::of_process().find(event.element.qp);
                if (!connection) break;
                connection->broken.store(true, std::memory_order_relaxed);
                connection->port().broke();
                break;
            }
            case IBV_EVENT_PORT_ERR:
                log(LogLevel::warning, "verbs: port %d of %s is down: what is under way ends by its retries",
                    event.element.port_num, ::ibv_get_device_name(device().context()->device));
                break;
            case IBV_EVENT_DEVICE_FATAL:
                log(LogLevel::error, "verbs: the device %s has failed",
                    ::ibv_get_device_name(device().context()->device));
                break;
            default:
                break;
        }
        ::ibv_ack_async_event(&event);
    }
}

void VerbsPort::came_in(Incoming incoming) noexcept {
    const na::Hello& hello = incoming.greeting.hello;
    const Identity who = na::sender_of(hello);
    if (!accepting_) return reject(std::move(incoming), Errc::shutting_down);
    if (hello.peer_incarnation != 0 && hello.peer_incarnation != transport_.incarnation()) {
        return reject(std::move(incoming), Errc::peer_lost);
    }
    if (full()) return reject(std::move(incoming), Errc::overloaded);
    const bool separate = hello.reason == static_cast<std::uint8_t>(Errc::exists);
    if (const VerbsPeer* met = peers_.find(who); met && met->connection && !separate) {
        cm_ready();  // it may have come back before the end of its last connection was read here
        met = peers_.find(who);
        if (met && met->connection && met->connection->dialled() && who < identity()) {
            return reject(std::move(incoming), Errc::exists);
        }
    }
    if (!separate && meetings_.take(incoming)) return;
    (void)answer(std::move(incoming));
}

void VerbsPort::reject(Incoming incoming, Errc why) noexcept {
    Greeting own;
    own.hello = hello(na::HelloKind::reject, na::sender_of(incoming.greeting.hello));
    own.hello.reason = static_cast<std::uint8_t>(why);
    const auto bytes = own.encode();
    (void)::rdma_reject(incoming.id.get(), bytes.data(), static_cast<std::uint8_t>(bytes.size()));
}

Connection* VerbsPort::answer(Incoming incoming) noexcept {
    Connection* connection = connections_.acquire();
    if (!connection) {
        reject(std::move(incoming), Errc::overloaded);
        return nullptr;
    }
    if (connection->accept(*this, std::move(incoming))) return connection;
    connections_.release(*connection);
    return nullptr;
}

void VerbsPort::await(VerbsPeer& peer, Connection& connection) noexcept {
    connection.intend(peer);
    peer.dial = &connection;
    peer.set_connecting();
    if (connection.established()) accept_done(connection);
}

void VerbsPort::accept_done(Connection& connection) noexcept {
    connection.set_established();
    if (meetings_.holds(connection)) return;
    VerbsPeer* peer = connection.peer();
    if (peer) peer->dial = nullptr;
    const Identity who = na::sender_of(connection.greeting().hello);
    if (!peer) peer = peers_.find_idle(who);
    if (!peer) {
        peer = &peers_.add(std::make_unique<VerbsPeer>(
            *this, na::Addr::make_session("verbs", who.context, who.incarnation), std::vector<SocketAddress>()));
    }
    begin_session(*peer, connection);
}

void VerbsPort::accept_failed(Connection& connection) noexcept {
    meetings_.forget(connection);
    VerbsPeer* peer = connection.peer();
    if (peer) peer->dial = nullptr;
    discard(connection, Errc::peer_lost);
    if (peer) end_session(*peer, Errc::peer_lost);
}

void VerbsPort::begin_session(VerbsPeer& peer, Connection& connection) noexcept {
    const na::Hello& theirs = connection.greeting().hello;
    const Identity who = na::sender_of(theirs);
    const bool restarted = peer.incarnation() != 0 && peer.incarnation() != who.incarnation;
    connection.open(peer);
    ++sessions_;
    peers_.identify(peer, who);
    peer.connection = &connection;
    peer.backoff.succeeded();
    peer.set_connected(theirs, static_cast<std::uint32_t>(options().message_bytes_max));
    // Posted under the own limit; the peer's may be smaller.
    for (Posted* posted = peer.messages.front(); posted;) {
        Posted& now = *std::exchange(posted, PostedList::next(*posted));
        if (now.op->message_bytes <= peer.message_bytes_max()) continue;
        peer.messages.remove(now);
        end(now, Errc::too_large);
    }
    dirty(connection);
    arm_pulse();
    if (restarted) host_.receiver().on_peer(peer, na::PeerEvent::restarted, Errc::ok);
    host_.receiver().on_peer(peer, na::PeerEvent::connected, Errc::ok);
    for (const ibv_wc& early : std::exchange(connection.held, {})) deliver(connection, early);
}

bool VerbsPort::connect(VerbsPeer& peer) noexcept {
    Errc why = Errc::ok;
    if (!accepting_) why = Errc::closed;
    if (peer.candidates.empty()) why = Errc::unreachable;
    if (why == Errc::ok && full()) why = Errc::overloaded;
    if (why != Errc::ok) {
        peer.backoff.last_failure = why;
        return false;
    }
    if (!peer.backoff.may_dial(host_.now_us())) return false;
    dial(peer, false);
    return true;
}

void VerbsPort::dial(VerbsPeer& peer, bool separate) noexcept {
    Connection* connection = connections_.acquire();
    if (!connection) return end_session(peer, Errc::overloaded);
    peer.dial = connection;
    peer.set_connecting();
    connection->dial(*this, peer, separate);
}

void VerbsPort::dial_done(Connection& dialled) noexcept {
    VerbsPeer& peer = *dialled.peer();
    const na::Hello answer = dialled.greeting().hello;
    const Identity who = na::sender_of(answer);
    const bool was_separate = dialled.separate();
    peer.dial = nullptr;
    if (answer.kind == na::HelloKind::reject) {
        discard(dialled, Errc::refused);
        if (answer.reason != static_cast<std::uint8_t>(Errc::exists) || was_separate) {
            end_session(peer, na::rejection(answer));
        } else if (!meetings_.met(peer, who)) {
            dial(peer, true);
        }
    } else if (answer.kind != na::HelloKind::accept || who.context != peer.remote_context()) {
        discard(dialled, Errc::protocol);
        end_session(peer, Errc::protocol);
    } else if (const na::Incarnation wanted = peer.addr().body().incarnation;
               wanted != 0 && who.incarnation != wanted) {
        discard(dialled, Errc::peer_lost);
        end_session(peer, Errc::peer_lost);
    } else {
        begin_session(peer, dialled);
        meetings_.dial_succeeded(who);
    }
    meetings_.dial_ended();
}

void VerbsPort::dial_failed(Connection& dialled, Errc why) noexcept {
    VerbsPeer& peer = *dialled.peer();
    peer.dial = nullptr;
    discard(dialled, why);
    end_session(peer, why);
    meetings_.dial_ended();
}

void VerbsPort::discard(Connection& connection, Errc why) noexcept {
    if (Connections::linked(connection)) dirty_.remove(connection);
    if (connection.leave_unanswered()) {
        draining_.push_back(connection);
        return arm_pulse();
    }
    connection.close(why);
    connections_.release(connection);
}

void VerbsPort::lost(Connection& connection, Errc why) noexcept {
    if (connection.stage() == Stage::open) return end_session(*connection.peer(), why);
    if (connection.stage() == Stage::accepted) accept_failed(connection);
}

void VerbsPort::end_session(VerbsPeer& peer, Errc why) noexcept {
    if (put_off_.end_session(peer, why)) fail_waiting(peer, why);  // what is posted from now on is for the next session
}

void VerbsPort::session_over(VerbsPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.connection != nullptr;
    if (Connection* connection = std::exchange(peer.connection, nullptr)) {
        --sessions_;
        if (Connections::linked(*connection)) dirty_.remove(*connection);
        connection->drain(why);
        draining_.push_back(*connection);
        arm_pulse();
    }
    // A dial that failed is gone already; one that is broken off by this side has not failed.
    Connection* const dial = std::exchange(peer.dial, nullptr);
    if (dial) discard(*dial, why);
    peer.set_idle();
    if (!was_connected && !dial) peer.backoff.failed(why, host_.now_us());
    host_.receiver().on_peer(peer, na::PeerEvent::lost, why);
    const bool wanted = !peer.messages.empty() || !peer.rma.empty();
    if (wanted && !peer.dial && !peer.ending && !connect(peer)) fail_waiting(peer, peer.backoff.last_failure);
    if (peer.references() == 0) unreferenced(peer);
}

void VerbsPort::fail_waiting(VerbsPeer& peer, Errc why) noexcept {
    while (Posted* posted = peer.messages.pop_front()) end(*posted, why);
    while (Posted* posted = peer.rma.pop_front()) end(*posted, why);
}

void VerbsPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<VerbsPeer&>(peer);
    if (own.connection || own.dial) end_session(own, Errc::peer_lost);
}

}  // namespace cinnabar::verbs
