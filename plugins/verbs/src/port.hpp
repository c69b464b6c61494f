// SPDX-License-Identifier: BSD-3-Clause
// One context's door to an RDMA network: its peers, their connections, and the queues that all of them share. Owner of
// the context only, but for messages, hand_over(), broke(), is_hit_by() and fail().
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

#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/put_off.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
#include <unordered_map>

namespace cinnabar::verbs {

class VerbsPort final : public na::Port {
  public:
    VerbsPort(VerbsTransport& transport, na::PortHost& host);
    ~VerbsPort() override;
    // Makes the queues. io, out_of_memory, with a hint.
    [[nodiscard]] Result<void> open();

    // na::Port
    void close() noexcept override;
    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer& peer) noexcept override;
    void disconnect(na::Peer& peer) noexcept override;
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    void cancel(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return sessions_ > 0; }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override;
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override;
    void release(na::Kept& kept) noexcept override;
    void stop_accepting() noexcept override { accepting_ = false; }

    [[nodiscard]] VerbsTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const Device& device() const noexcept { return transport_.device(); }
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return transport_.options(); }
    [[nodiscard]] na::PortHost& host() const noexcept { return host_; }
    [[nodiscard]] na::Hello hello(na::HelloKind kind, const na::Identity& to) const noexcept {
        return na::make_hello(kind, transport_, host_, to);
    }
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
    // Completes it once the stack has unwound.
    void end(Posted& posted, Errc result) noexcept { put_off_.end(posted, result); }
    // Runs what was put off until the stack had unwound: completions, ends of sessions.
    unsigned settle() noexcept;
    // An asynchronous event ended a connection. Any thread.
    void broke() noexcept;
    // Its queue, or its device, failed and will not come back: no session goes on, and none begins. Any thread.
    void fail(Errc why) noexcept;
    // Whether that is what the event says. Any thread, from the end of open() to close().
    [[nodiscard]] bool is_hit_by(const ibv_async_event& event, const ibv_context& device) const noexcept;

    // Sessions (sessions.cpp).
    void hand_over(Incoming incoming) noexcept;  // any thread; requires: not inbox_full()
    [[nodiscard]] bool inbox_full() noexcept { return inbox_.full(); }
    void dial_done(Connection& dial) noexcept;
    void dial_failed(Connection& dial, Errc why) noexcept;
    void accept_done(Connection& connection) noexcept;
    void accept_failed(Connection& connection) noexcept;
    void lost(Connection& connection, Errc why) noexcept;
    void end_session(VerbsPeer& peer, Errc why) noexcept;  // once the stack has unwound

  private:
    // Arrivals (arrivals.cpp).
    unsigned poll_completions() noexcept;
    void arrived(const ibv_wc& done) noexcept;
    void deliver(Connection& connection, const ibv_wc& done) noexcept;

    // Sessions.
    unsigned take_inbox() noexcept;
    void came_in(Incoming incoming) noexcept;
    void reject(Incoming incoming, Errc why) noexcept;
    void cm_ready() noexcept;
    void listener_ready() noexcept { transport_.take_requests(); }
    void device_ready() noexcept;
    [[nodiscard]] bool connect(VerbsPeer& peer) noexcept;
    void dial(VerbsPeer& peer) noexcept;
    void begin_session(VerbsPeer& peer, Connection& connection) noexcept;
    void session_over(VerbsPeer& peer, Errc why) noexcept;
    void discard(Connection& connection, Errc why) noexcept;
    void send_no_more(Connection& connection) noexcept;
    // Why it is of no use any more; ok: it is.
    [[nodiscard]] Errc failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    [[nodiscard]] bool full() const noexcept { return sessions_ >= transport_.limits().connections_max; }

    // Ends and signs of life (port.cpp).
    unsigned look_at_draining() noexcept;
    unsigned look_at_broken() noexcept;
    void beat() noexcept;
    void arm_pulse() noexcept;

    VerbsTransport& transport_;
    na::PortHost& host_;
    SendBuffers messages_;
    ReceiveSlots slots_;
    AtomicCells cells_;
    EventChannel channel_;
    CompletionQueue completions_;
    QueueRoom<Connection, &Connection::room_link> room_;
    Watch<VerbsPort> cm_watch_;
    Watch<VerbsPort> listener_watch_;
    Watch<VerbsPort> device_watch_;

    na::PeersOf<VerbsPeer> peers_;
    SlotPool<Connection> connections_;
    std::unordered_map<std::uint32_t, Connection*> by_queue_pair_;
    na::Inbox<Incoming> inbox_;

    using Connections = IntrusiveList<Connection, &Connection::link>;
    Connections dirty_;
    Connections draining_;
    na::PutOff<VerbsPeer, Posted> put_off_;
    TimerOf<VerbsPort> pulse_;

    std::uint32_t sessions_ = 0;
    std::uint64_t times_emptied_ = 0;  // the completion queue
    bool in_hand_ = false;             // the arrival that is being delivered was not kept
    bool accepting_ = true;
    bool closed_ = false;
    std::atomic<bool> broken_{false};  // a connection, or all of it
    std::atomic<Errc> failed_{Errc::ok};
};

}  // namespace cinnabar::verbs
