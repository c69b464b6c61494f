// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on an RDMA network: its peers, their sessions, and the queues that they share. Owner of the
// context only, except messages, inbox and failure: any thread.
#pragma once

#include "arrivals.hpp"
#include "atomic_cells.hpp"
#include "connection_manager.hpp"
#include "device_watch.hpp"
#include "failure.hpp"
#include "liveness.hpp"
#include "peer.hpp"
#include "queue_room.hpp"
#include "receive_slots.hpp"
#include "send_buffers.hpp"
#include "session.hpp"
#include "transport.hpp"

#include <cinnabar/na/session/fd_watch.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/output_lists.hpp>
#include <cinnabar/na/session/session_port.hpp>

#include <utility>

namespace cinnabar::verbs {

class VerbsPort final : public na::SessionPort {
  public:
    VerbsPort(VerbsTransport& transport, na::PortHost& host);
    ~VerbsPort() override { close(); }
    // Creates the queues. io, out_of_memory, with a hint.
    [[nodiscard]] Result<void> open();

    // Overrides of na::Port.
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return open_sessions_ > 0; }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        return arrivals_.keep(arrival, out);
    }
    // Nothing to do: another slot was posted when the arrival was kept.
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override {
        kept.detached = true;
        return Errc::ok;
    }
    void release(na::Kept& kept) noexcept override {
        CINNABAR_ASSERT(kept.port == this);
        slots_.release(std::exchange(kept, {}).index);
    }

    [[nodiscard]] VerbsTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const Device& device() const noexcept { return transport_.device(); }
    [[nodiscard]] na::Inbox<Incoming>& inbox() noexcept { return inbox_; }
    [[nodiscard]] const ConnectionManager& manager() const noexcept { return manager_; }
    [[nodiscard]] Failure& failure() noexcept { return failure_; }

    // Used by the sessions.
    [[nodiscard]] ReceiveSlots& slots() noexcept { return slots_; }
    [[nodiscard]] AtomicCells& cells() noexcept { return cells_; }
    [[nodiscard]] Arrivals& arrivals() noexcept { return arrivals_; }
    [[nodiscard]] SlotPool<Session>& sessions() noexcept { return sessions_; }
    // Sessions that wait for room in the completion queue, or for an atomic cell; completed work requests free both.
    [[nodiscard]] auto& room() noexcept { return room_; }
    [[nodiscard]] na::OutputLists<Session>& output() noexcept { return output_; }
    // Sessions (sessions.cpp).
    void dial_done(Session& dial) noexcept;
    void dial_failed(Session& dial, Errc why) noexcept;
    void accept_done(Session& session) noexcept;
    void lost(Session& session, Errc why) noexcept;
    // Closes a session that is not open.
    void discard(Session& session, Errc why) noexcept;

  private:
    // Overrides of na::SessionPort.
    [[nodiscard]] Result<std::unique_ptr<na::SessionPeer>> make_peer(const na::Addr& addr) override {
        return na::make_socket_peer<VerbsPeer>(*this, addr);
    }
    [[nodiscard]] Errc session_limit() const noexcept override;
    void begin_dial(na::SessionPeer& peer) noexcept override;
    void end_connection(na::SessionPeer& ending, Errc why) noexcept override;
    // The device has the operation, so it completes normally.
    void cancel_begun(na::SessionPeer&, na::PostedOp&) noexcept override {}
    void stop_events() noexcept override;
    void end_connections() noexcept override;
    void release_all() noexcept override;

    void accept(Incoming incoming) noexcept;
    void begin_session(VerbsPeer& peer, Session& session) noexcept;
    void send_no_more(Session& session) noexcept;

    VerbsTransport& transport_;
    SendBuffers messages_;
    ReceiveSlots slots_;
    AtomicCells cells_;
    ConnectionManager manager_;
    Arrivals arrivals_;
    QueueRoom<Session, &Session::room_link> room_;
    na::FdWatch<VerbsTransport> listener_watch_;
    DeviceWatch device_watch_;

    SlotPool<Session> sessions_;
    na::Inbox<Incoming> inbox_;

    na::OutputLists<Session> output_;  // none is ever blocked: sessions without room are in room_
    Failure failure_;
    Liveness liveness_;
    std::uint32_t open_sessions_ = 0;
};

}  // namespace cinnabar::verbs
