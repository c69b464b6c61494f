// SPDX-License-Identifier: BSD-3-Clause
// One context's door to shared memory: its peers, their sessions, and what is to be done for them next. Owner of the
// context only, but for messages and inbox.
#pragma once

#include "handshake.hpp"
#include "peer.hpp"
#include "session.hpp"
#include "transport.hpp"

#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/newcomers.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/put_off.hpp>
#include <cinnabar/na/session/receive_blocks.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>
#include <vector>

namespace cinnabar::shm {

// The context's own bell: rung by peers whose rings it looks at while it is awake.
class ContextBell final : public na::FdEvents {
  public:
    explicit ContextBell(ShmPort& port) noexcept : port_(port) {}
    // False, with errno, when the kernel refuses.
    [[nodiscard]] bool open() noexcept;
    void close() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    void on_ready(std::uint32_t epoll_events) noexcept override;

  private:
    ShmPort& port_;
    UniqueFd fd_;
};

class ShmPort final : public na::Port {
  public:
    ShmPort(ShmTransport& transport, na::PortHost& host);
    ~ShmPort() override;
    // False, with errno, when the kernel refuses a descriptor.
    [[nodiscard]] bool open() noexcept { return bell_.open() && newcomers_.watch(transport_.listener()); }

    // na::Port
    void close() noexcept override;
    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer& peer) noexcept override;
    void disconnect(na::Peer& peer) noexcept override;
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    void cancel(na::Op& op) noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(na::Peer& peer, const na::RemoteMemory& memory,
                                                         std::uint64_t offset, std::uint64_t bytes) override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override;
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        return blocks_.keep(arrival, *this, out);
    }
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override { return blocks_.detach(kept, closed_); }
    void release(na::Kept& kept) noexcept override {
        CINNABAR_ASSERT(kept.port == this);
        blocks_.release(kept);
    }
    void stop_accepting() noexcept override { accepting_ = false; }

    [[nodiscard]] ShmTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return transport_.options(); }
    [[nodiscard]] na::PortHost& host() const noexcept { return host_; }
    [[nodiscard]] na::ReceiveBlocks& blocks() noexcept { return blocks_; }
    [[nodiscard]] na::AccessPools& access_pools() noexcept { return access_pools_; }
    [[nodiscard]] na::Inbox<Caller>& inbox() noexcept { return inbox_; }
    [[nodiscard]] na::Newcomers<ShmPort, Newcomer>& newcomers() noexcept { return newcomers_; }

    // What the sessions report (port.cpp).
    void dirty(Session& session) noexcept;    // it has something to write
    void blocked(Session& session) noexcept;  // it has, and the ring has no room
    void unlist(Session& session) noexcept;   // neither of both
    void wrote(Session& session) noexcept;    // its peer has to be told, if it sleeps
    void copying(Session& session) noexcept;  // it has operations that copy
    void closing(Session& session) noexcept;  // it is about to close: forget it
    void touched(Session& session) noexcept;  // something came: look at it in each round
    void small_traffic() noexcept { small_at_ = host_.now_us(); }
    // Completes it once the stack has unwound.
    void end(Posted& posted, Errc result) noexcept { put_off_.end(posted, result); }
    // Runs what was put off until the stack had unwound: completions, ends of sessions.
    unsigned settle() noexcept;
    unsigned look_at_hot() noexcept;

    // Sessions (sessions.cpp).
    [[nodiscard]] na::Hello hello(na::HelloKind kind, const na::Identity& to) const noexcept {
        return na::make_hello(kind, transport_, host_, to);
    }
    // What a peer is told and given in the greeting: the lease board, and where to probe, only if it is of the own
    // user.
    [[nodiscard]] Terms terms(const Credentials& peer) const;
    [[nodiscard]] OwnFds own_fds(int ring, const Credentials& peer) const noexcept;
    void reject(const Caller& caller, Errc why) noexcept;
    void came_in(Caller caller) noexcept;  // a caller's greeting is there
    void dial_done(Dial& dial, Caller answer, Segment ring) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;
    void end_session(ShmPeer& peer, Errc why) noexcept;  // once the stack has unwound

  private:
    [[nodiscard]] bool connect(ShmPeer& peer) noexcept;
    void dial(ShmPeer& peer) noexcept;
    void drop_dial(ShmPeer& peer) noexcept;
    [[nodiscard]] bool full() const noexcept { return sessions_.taken() >= options().connections_max; }
    void let_in(Caller caller) noexcept;
    void begin_session(ShmPeer& peer, Channel channel) noexcept;
    void session_over(ShmPeer& peer, Errc why) noexcept;
    void write_out() noexcept;
    void forget_hot(Session& session) noexcept;
    void cool(Session& session) noexcept;
    unsigned retry_blocked() noexcept;
    unsigned copy_some() noexcept;

    ShmTransport& transport_;
    na::PortHost& host_;
    na::MessagePool messages_;
    na::ReceiveBlocks blocks_;

    na::PeersOf<ShmPeer> peers_;
    SlotPool<Session> sessions_;
    SlotPool<Dial> dials_;
    na::AccessPools access_pools_;
    na::Inbox<Caller> inbox_;
    na::Newcomers<ShmPort, Newcomer> newcomers_;
    ContextBell bell_;

    using Outputs = IntrusiveList<Session, &Session::output_link>;
    using Announcements = IntrusiveList<Session, &Session::announce_link>;
    using Copies = IntrusiveList<Session, &Session::copy_link>;
    Outputs dirty_;
    Outputs blocked_;
    Announcements announcing_;
    Copies copying_;
    na::PutOff<ShmPeer, Posted> put_off_;

    std::vector<Session*> hot_;  // looked at in each round; room for all is reserved
    TimeUs small_at_ = 0;        // when a message last came or went
    TimeUs active_at_ = 0;       // when a hot session last brought something
    bool accepting_ = true;
    bool closed_ = false;
};

}  // namespace cinnabar::shm
