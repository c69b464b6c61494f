// SPDX-License-Identifier: BSD-3-Clause
// A context's port on an RDMA network: its peers, their connections, and the queues that all of them share. Owner of
// the context only, but for messages, inbox, broke(), is_hit_by() and fail().
#pragma once

#include "atomic_cells.hpp"
#include "completion_queue.hpp"
#include "connection.hpp"
#include "peer.hpp"
#include "queue_room.hpp"
#include "receive_slots.hpp"
#include "send_buffers.hpp"
#include "transport.hpp"
#include "watch.hpp"

#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/session_port.hpp>

#include <atomic>
#include <unordered_map>

namespace cinnabar::verbs {

class VerbsPort final : public na::SessionPort {
  public:
    VerbsPort(VerbsTransport& transport, na::PortHost& host);
    ~VerbsPort() override { close(); }
    // Makes the queues. io, out_of_memory, with a hint.
    [[nodiscard]] Result<void> open();

    // na::Port
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return sessions_ > 0; }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override;
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override;
    void release(na::Kept& kept) noexcept override;

    [[nodiscard]] VerbsTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const Device& device() const noexcept { return transport_.device(); }
    [[nodiscard]] na::Inbox<Incoming>& inbox() noexcept { return inbox_; }
    [[nodiscard]] rdma_event_channel* channel() const noexcept { return channel_.get(); }

    // What connections use.
    [[nodiscard]] ReceiveSlots& slots() noexcept { return slots_; }
    [[nodiscard]] AtomicCells& cells() noexcept { return cells_; }
    [[nodiscard]] ibv_cq* completions() const noexcept { return completions_.get(); }
    [[nodiscard]] std::uint32_t window_for_next() const noexcept;
    void add_queue_pair(Connection& connection) { by_queue_pair_[connection.queue_pair()] = &connection; }
    void fetch_completions() noexcept { completions_.fetch_all(); }
    // How often all was read that the completion queue had.
    [[nodiscard]] std::uint64_t times_emptied() const noexcept { return times_emptied_; }
    void remove_queue_pair(Connection& connection) noexcept;
    // Whoever lacks room in it, or an atomic cell, waits there: either comes back with a work request that is done.
    [[nodiscard]] auto& room() noexcept { return room_; }
    void left_queue() noexcept;
    void dirty(Connection& connection) noexcept;  // it has something to send
    // An asynchronous event ended a connection. Any thread.
    void broke() noexcept;
    // Its queue, or its device, failed and will not come back: no session goes on, and none begins. Any thread.
    void fail(Errc why) noexcept;
    // Whether that is what the event says. Any thread, from the end of open() to close().
    [[nodiscard]] bool is_hit_by(const ibv_async_event& event, const ibv_context& device) const noexcept;

    // Sessions (sessions.cpp).
    void dial_done(Connection& dial) noexcept;
    void dial_failed(Connection& dial, Errc why) noexcept;
    void accept_done(Connection& connection) noexcept;
    void accept_failed(Connection& connection) noexcept;
    void lost(Connection& connection, Errc why) noexcept;

  private:
    // na::SessionPort
    [[nodiscard]] Result<std::unique_ptr<na::SessionPeer>> make_peer(const na::Addr& addr) override {
        return na::make_socket_peer<VerbsPeer>(*this, addr);
    }
    [[nodiscard]] Errc session_limit() const noexcept override;
    void begin_dial(na::SessionPeer& peer) noexcept override;
    void end_connection(na::SessionPeer& ending, Errc why) noexcept override;
    // The device has it: it ends as it would have.
    void cancel_begun(na::SessionPeer&, na::PostedOp&) noexcept override {}
    void stop_events() noexcept override;
    void end_connections() noexcept override;
    void release_all() noexcept override;

    // Arrivals (arrivals.cpp).
    unsigned poll_completions() noexcept;
    void arrived(const ibv_wc& done) noexcept;
    void deliver(Connection& connection, const ibv_wc& done) noexcept;

    // Sessions.
    unsigned take_inbox() noexcept;
    void accept(Incoming incoming) noexcept;
    void reject(const Incoming& incoming, Errc why) noexcept;
    void cm_ready() noexcept;
    void listener_ready() noexcept { transport_.take_requests(); }
    void device_ready() noexcept;
    void begin_session(VerbsPeer& peer, Connection& connection) noexcept;
    void discard(Connection& connection, Errc why) noexcept;
    void send_no_more(Connection& connection) noexcept;
    // Why it is of no use any more; ok: it is.
    [[nodiscard]] Errc failed() const noexcept { return failed_.load(std::memory_order_acquire); }

    // Ends and signs of life (port.cpp).
    unsigned look_at_draining() noexcept;
    unsigned look_at_broken() noexcept;
    void beat() noexcept;
    void arm_pulse() noexcept;

    VerbsTransport& transport_;
    SendBuffers messages_;
    ReceiveSlots slots_;
    AtomicCells cells_;
    EventChannel channel_;
    CompletionQueue completions_;
    QueueRoom<Connection, &Connection::room_link> room_;
    Watch<VerbsPort> cm_watch_;
    Watch<VerbsPort> listener_watch_;
    Watch<VerbsPort> device_watch_;

    SlotPool<Connection> connections_;
    std::unordered_map<std::uint32_t, Connection*> by_queue_pair_;
    na::Inbox<Incoming> inbox_;

    using Connections = IntrusiveList<Connection, &Connection::link>;
    Connections dirty_;
    Connections draining_;
    TimerOf<VerbsPort> pulse_;

    std::uint32_t sessions_ = 0;
    std::uint64_t times_emptied_ = 0;  // the completion queue
    bool in_hand_ = false;             // the arrival that is being delivered was not kept
    std::atomic<bool> broken_{false};  // a connection, or all of it
    std::atomic<Errc> failed_{Errc::ok};
};

}  // namespace cinnabar::verbs
