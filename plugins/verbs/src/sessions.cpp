// SPDX-License-Identifier: BSD-3-Clause
// How sessions begin and end, and what the connection manager and the device tell of them.
#include "device_events.hpp"
#include "port.hpp"
#include "process_ports.hpp"
#include "rdma_library.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>

namespace cinnabar::verbs {

unsigned VerbsPort::take_inbox() noexcept {
    unsigned did = 0;
    for (Incoming& incoming : inbox_.take_all()) accept(std::move(incoming)), ++did;
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

// The device's context is shared by all transports of the process on that device: an event goes to the port or
// connection that it names.
void VerbsPort::device_ready() noexcept {
    ibv_async_event event{};
    while (rdma().get_async_event(device().context(), &event) == 0) {
        const DeviceStep step = device_step_of(event.event_type, device().traits().iwarp);
        const char* const name = rdma().get_device_name(device().context()->device);
        switch (step.action) {
            case DeviceAction::ignore:
                break;
            case DeviceAction::end_session: {
                // The queue pair, and with it the connection, cannot go before the event is acknowledged.
                Connection* const connection = ProcessQueuePairs::get().find(event.element.qp);
                if (!connection) break;
                connection->broken.store(step.why, std::memory_order_relaxed);
                connection->port().broke();
                break;
            }
            case DeviceAction::end_port:
            case DeviceAction::end_ports:
                log(LogLevel::error, "verbs: %s: %s: what uses it is over", name,
                    rdma().event_type_str(event.event_type));
                ProcessPorts::get().each([&](VerbsPort& port) {
                    if (port.is_hit_by(event, *device().context())) port.fail(step.why);
                });
                break;
            case DeviceAction::tell:
                log(LogLevel::warning, "verbs: port %d of %s is down: what is under way ends by its retries",
                    event.element.port_num, name);
                break;
        }
        rdma().ack_async_event(&event);
    }
}

Errc VerbsPort::session_limit() const noexcept {
    if (failed() != Errc::ok) return failed();
    return sessions_ >= transport_.limits().connections_max ? Errc::overloaded : Errc::ok;
}

void VerbsPort::accept(Incoming incoming) noexcept {
    Errc refused = refusal(incoming.greeting.hello);
    if (failed() != Errc::ok) refused = Errc::unreachable;
    if (refused != Errc::ok) return reject(incoming, refused);
    Connection* const connection = connections_.acquire();
    if (!connection) return reject(incoming, Errc::overloaded);
    if (connection->accept(*this, incoming)) return;
    connections_.release(*connection);
    // The log of this side tells what it lacks; to the other, if it is still there, it is a host that takes no more.
    reject(incoming, Errc::overloaded);
}

void VerbsPort::reject(const Incoming& incoming, Errc why) noexcept {
    Greeting own;
    own.hello = reject_hello(incoming.greeting.hello, why);
    const auto bytes = own.encode();
    (void)rdma().reject(incoming.id.get(), bytes.data(), static_cast<std::uint8_t>(bytes.size()));
}

// A request does not tell which process made it: never the own one.
void VerbsPort::accept_done(Connection& connection) noexcept {
    const na::Identity identity = na::sender_of(connection.greeting().hello);
    VerbsPeer* const peer = add_incoming([&] {
        const na::Addr addr =
            na::Addr::of_connection("verbs", host().context_id(), identity.context, identity.incarnation, false,
                                    connection.remote_address().endpoint("verbs"));
        return std::make_unique<VerbsPeer>(*this, addr, transport_, na::DialTargets());
    });
    if (!peer) return accept_failed(connection);
    begin_session(*peer, connection);
}

void VerbsPort::accept_failed(Connection& connection) noexcept { discard(connection, Errc::peer_lost); }

void VerbsPort::begin_session(VerbsPeer& peer, Connection& connection) noexcept {
    connection.open(peer);
    ++sessions_;
    peer.connection = &connection;
    dirty(connection);
    arm_pulse();
    opened(peer, connection.greeting().hello);
    for (const ibv_wc& early : std::exchange(connection.held, {})) deliver(connection, early);
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
    const Errc why = misfit(dialled.greeting().hello, peer);
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

void VerbsPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<VerbsPeer&>(ending);
    if (Connection* connection = std::exchange(peer.connection, nullptr)) {
        --sessions_;
        send_no_more(*connection);
        connection->drain(why);
        draining_.push_back(*connection);
        arm_pulse();
    }
    if (Connection* const dial = std::exchange(peer.dial, nullptr)) discard(*dial, why);
}

}  // namespace cinnabar::verbs
