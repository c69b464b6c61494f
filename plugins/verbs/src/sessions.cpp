// SPDX-License-Identifier: BSD-3-Clause
// From connections to sessions and their ends: who came in, what a dial brought, and what becomes of the peers.
#include "device_events.hpp"
#include "own_ports.hpp"
#include "own_queue_pairs.hpp"
#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/sessions.hpp>

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
        const DeviceStep step = device_step_of(event.event_type, device().traits().iwarp);
        const char* const name = ::ibv_get_device_name(device().context()->device);
        switch (step.action) {
            case DeviceAction::ignore:
                break;
            case DeviceAction::end_session: {
                // The queue pair, and with it the connection, cannot go before the event is acknowledged.
                Connection* const connection = OwnQueuePairs::of_process().find(event.element.qp);
                if (!connection) break;
                connection->broken.store(step.why, std::memory_order_relaxed);
                connection->port().broke();
                break;
            }
            case DeviceAction::end_port:
            case DeviceAction::end_ports:
                log(LogLevel::error, "verbs: %s: %s: what uses it is over", name,
                    ::ibv_event_type_str(event.event_type));
                OwnPorts::of_process().each([&](VerbsPort& port) {
                    if (port.is_hit_by(event, *device().context())) port.fail(step.why);
                });
                break;
            case DeviceAction::tell:
                log(LogLevel::warning, "verbs: port %d of %s is down: what is under way ends by its retries",
                    event.element.port_num, name);
                break;
        }
        ::ibv_ack_async_event(&event);
    }
}

void VerbsPort::came_in(Incoming incoming) noexcept {
    const na::Hello& hello = incoming.greeting.hello;
    Errc refused = na::refusal(hello, transport_.incarnation(), accepting_, full());
    if (failed() != Errc::ok) refused = Errc::unreachable;
    if (refused != Errc::ok) return reject(std::move(incoming), refused);
    Connection* const connection = connections_.acquire();
    if (!connection) return reject(std::move(incoming), Errc::overloaded);
    if (connection->accept(*this, incoming)) return;
    connections_.release(*connection);
    // What this side lacks was told in its log; to the other, if it is still there, it is a host that takes no more.
    reject(std::move(incoming), Errc::overloaded);
}

void VerbsPort::reject(Incoming incoming, Errc why) noexcept {
    Greeting own;
    own.hello = hello(na::HelloKind::reject, na::sender_of(incoming.greeting.hello));
    own.hello.reason = static_cast<std::uint8_t>(why);
    const auto bytes = own.encode();
    (void)::rdma_reject(incoming.id.get(), bytes.data(), static_cast<std::uint8_t>(bytes.size()));
}

// A peer of its own, whoever it claims to be. Nobody can tell from a request who made it: never one's own.
void VerbsPort::accept_done(Connection& connection) noexcept {
    const na::Identity who = na::sender_of(connection.greeting().hello);
    na::Addr addr = na::Addr::of_connection("verbs", who.context, who.incarnation, false,
                                            connection.remote_address().endpoint("verbs"));
    VerbsPeer& peer = peers_.add(std::make_unique<VerbsPeer>(*this, std::move(addr), na::Places()));
    begin_session(peer, connection);
}

void VerbsPort::accept_failed(Connection& connection) noexcept { discard(connection, Errc::peer_lost); }

void VerbsPort::begin_session(VerbsPeer& peer, Connection& connection) noexcept {
    const na::Hello& theirs = connection.greeting().hello;
    const bool restarted = na::restarted(peer, theirs.incarnation);
    connection.open(peer);
    ++sessions_;
    peer.connection = &connection;
    peer.backoff.succeeded();
    peer.set_connected(theirs, static_cast<std::uint32_t>(options().message_bytes_max));
    na::end_too_large(*this, peer);
    dirty(connection);
    arm_pulse();
    na::tell_connected(host_, peer, restarted);
    for (const ibv_wc& early : std::exchange(connection.held, {})) deliver(connection, early);
}

bool VerbsPort::connect(VerbsPeer& peer) noexcept {
    if (failed() != Errc::ok) {
        peer.backoff.last_failure = failed();
        return false;
    }
    if (!na::may_dial(peer, accepting_, full(), host_.now_us())) return false;
    dial(peer);
    return true;
}

void VerbsPort::dial(VerbsPeer& peer) noexcept {
    Connection* connection = connections_.acquire();
    if (!connection) return end_session(peer, Errc::overloaded);
    peer.dial = connection;
    peer.set_connecting();
    connection->dial(*this, peer);
}

void VerbsPort::dial_done(Connection& dialled) noexcept {
    VerbsPeer& peer = *dialled.peer();
    peer.dial = nullptr;
    const Errc why = na::misfit(dialled.greeting().hello, peer);
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
    if (put_off_.end_session(peer, why))
        na::fail_waiting(*this, peer, why);  // what is posted from now on is for the next session
}

void VerbsPort::session_over(VerbsPeer& peer, Errc why) noexcept {
    const bool was_connected = peer.connection != nullptr;
    if (Connection* connection = std::exchange(peer.connection, nullptr)) {
        --sessions_;
        send_no_more(*connection);
        connection->drain(why);
        draining_.push_back(*connection);
        arm_pulse();
    }
    // A dial that failed is gone already; one that is broken off by this side has not failed.
    Connection* const dial = std::exchange(peer.dial, nullptr);
    if (dial) discard(*dial, why);
    na::session_ended(*this, peer, why, !was_connected && !dial, [this](VerbsPeer& lost) { return connect(lost); });
}

void VerbsPort::disconnect(na::Peer& peer) noexcept {
    auto& own = static_cast<VerbsPeer&>(peer);
    if (own.connection || own.dial) end_session(own, Errc::peer_lost);
}

}  // namespace cinnabar::verbs
