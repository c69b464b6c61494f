// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on shared memory: its peers, their sessions, and the lists of sessions to read and write next.
// Owner of the context only, except messages and inbox: any thread.
#pragma once

#include "copy_queue.hpp"
#include "handshake.hpp"
#include "hot_sessions.hpp"
#include "peer.hpp"
#include "session.hpp"
#include "transport.hpp"

#include <cinnabar/na/session/fd_watch.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/output_lists.hpp>
#include <cinnabar/na/session/small_traffic.hpp>
#include <cinnabar/na/session/socket_port.hpp>

#include <memory>

namespace cinnabar::shm {

// The bell of this context, an eventfd. Peers of hot sessions ring it while the context sleeps.
class ContextBell {
  public:
    explicit ContextBell(ShmPort& port) noexcept;
    // False, with errno: the kernel refused.
    [[nodiscard]] bool open() noexcept;
    void close() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    void ready() noexcept;

    ShmPort& port_;
    UniqueFd fd_;
    na::FdWatch<ContextBell> watch_;
};

class ShmPort final : public na::SocketPort<ShmPort, IncomingHandshake, Incoming> {
  public:
    ShmPort(ShmTransport& transport, na::PortHost& host);
    ~ShmPort() override { close(); }
    // False, with errno: the kernel refused a descriptor.
    [[nodiscard]] bool open() noexcept { return bell_.open() && handshakes_.watch(transport_.listener()); }

    // Overrides of na::Port.
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(na::Peer& peer, const na::RemoteMemory& memory,
                                                         std::uint64_t offset, std::uint64_t bytes) override;
    [[nodiscard]] Result<std::unique_ptr<na::DirectMemory>> direct(na::Peer& peer, const na::RemoteMemory& memory,
                                                                   std::uint64_t offset, std::uint64_t bytes,
                                                                   na::Access access) override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return hot_sessions_.active(); }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }

    [[nodiscard]] ShmTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] na::AccessPools& access_pools() noexcept { return access_pools_; }

    // False if too many descriptors of other users wait to be closed.
    [[nodiscard]] bool may_accept() const noexcept;

    // Called by the sessions (port.cpp).
    [[nodiscard]] na::OutputLists<Session>& output() noexcept { return output_; }
    [[nodiscard]] CopyQueue& copies() noexcept { return copies_; }
    [[nodiscard]] HotSessions& hot_sessions() noexcept { return hot_sessions_; }
    void wrote(Session& session) noexcept;    // the session wrote a record: its peer is woken if it sleeps
    void closing(Session& session) noexcept;  // the session is about to close: removes it from all lists
    void small_traffic() noexcept { small_.note(); }

    // Sessions (sessions.cpp).
    // Takes a flag for a session with that peer; empty: the session gets none.
    [[nodiscard]] OwnFlag flag_for(const Credentials& peer) noexcept;
    [[nodiscard]] OwnFds own_fds(int ring, const Credentials& peer, const OwnFlag& flag) const noexcept;
    [[nodiscard]] Terms terms(const Credentials& peer, const OwnFlag& flag) const noexcept;
    void accept(Incoming incoming) noexcept;
    void reject(const Incoming& incoming, Errc why) noexcept;
    void dial_done(Dial& dial, Incoming answer, Segment incoming_ring, OwnFlag flag) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;

  private:
    // Overrides of na::SessionPort.
    [[nodiscard]] Result<std::unique_ptr<na::SessionPeer>> make_peer(const na::Addr& addr) override;
    [[nodiscard]] Errc session_limit() const noexcept override {
        return sessions_.taken() >= options().connections_max ? Errc::overloaded : Errc::ok;
    }
    void begin_dial(na::SessionPeer& peer) noexcept override;
    void end_connection(na::SessionPeer& ending, Errc why) noexcept override;
    void cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept override;
    void stop_events() noexcept override;
    void release_all() noexcept override { bell_.close(); }

    void begin_session(ShmPeer& peer, Channel channel) noexcept;
    void write_out() noexcept;
    unsigned retry_blocked() noexcept;

    ShmTransport& transport_;
    na::MessagePool messages_;

    HotSessions hot_sessions_;
    SlotPool<Session> sessions_;
    SlotPool<Dial> dials_;
    na::AccessPools access_pools_;
    ContextBell bell_;

    using Outputs = na::OutputLists<Session>::List;
    using Announcements = IntrusiveList<Session, &Session::announce_link>;
    na::OutputLists<Session> output_;
    Announcements announcing_;
    CopyQueue copies_;
    na::SmallTraffic small_;
};

}  // namespace cinnabar::shm
