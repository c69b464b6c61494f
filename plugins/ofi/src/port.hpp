// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on a fabric: its endpoint, its peers, and the list of sessions that send next. Owner of the
// context only, except messages and inbox: any thread.
#pragma once

#include "buffers.hpp"
#include "endpoint.hpp"
#include "peer.hpp"
#include "pools.hpp"
#include "receives.hpp"
#include "room.hpp"
#include "session.hpp"
#include "transport.hpp"

#include <cinnabar/na/session/fd_watch.hpp>
#include <cinnabar/na/session/output_lists.hpp>
#include <cinnabar/na/session/socket_port.hpp>
#include <cinnabar/na/session/withdrawn_credentials.hpp>

#include <memory>

namespace cinnabar::ofi {

class OfiPort;

// The provider's descriptor in the context's epoll set.
class QueueWatch {
  public:
    explicit QueueWatch(OfiPort& port) noexcept;
    // False, with errno: the kernel refused. fd -1: the provider has no descriptor.
    [[nodiscard]] bool start(int fd) noexcept;
    void stop() noexcept { watch_.stop(); }

  private:
    void ready() noexcept;

    OfiPort& port_;
    na::FdWatch<QueueWatch> watch_;
    bool by_edges_ = false;
    TimeUs fruitless_since_ = 0;  // since when events brought no completion; 0: the last event did
};

class OfiPort final : public na::SocketPort<OfiPort, na::IncomingHandshake<OfiPort>, Incoming> {
  public:
    OfiPort(OfiTransport& transport, na::PortHost& host, std::unique_ptr<Endpoint> endpoint);
    ~OfiPort() override { close(); }
    // Posts the receives and watches the descriptors.
    [[nodiscard]] Result<void> open();

    // Overrides of na::Port.
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return idle_rounds_ < hot_rounds; }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(static_cast<Buffer&>(message)); }

    [[nodiscard]] OfiTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const Provider& provider() const noexcept { return transport_.provider(); }
    [[nodiscard]] Endpoint& endpoint() noexcept { return *endpoint_; }
    [[nodiscard]] BufferPool& messages() noexcept { return messages_; }
    [[nodiscard]] Pools& pools() noexcept { return pools_; }
    [[nodiscard]] SlotPool<Session>& sessions() noexcept { return sessions_; }

    [[nodiscard]] na::OutputLists<Session>& output() noexcept { return output_; }
    [[nodiscard]] SendRoom& send_room() noexcept { return send_room_; }
    void connecting(int change) noexcept { connecting_ += change; }
    [[nodiscard]] na::WithdrawnCredentials<OfiPort, Session>& withdrawn_credentials() noexcept {
        return withdrawn_credentials_;
    }
    void frame_came(Bytes bytes, na::ReceiveBlock& block, fi_addr_t source) noexcept;
    // There was no memory to receive the frame: ends its session, because the peer takes it for delivered.
    void frame_lost(ConstBytes bytes) noexcept;
    // Polls the provider; returns the amount of work done.
    unsigned poll_endpoint() noexcept;

    // Sessions (sessions.cpp).
    [[nodiscard]] Greeting greeting(const na::Hello& hello, const Session* session) const noexcept;
    void accept(Incoming incoming) noexcept;
    void reject(Incoming& incoming, Errc why) noexcept;
    [[nodiscard]] Greeting dial_greeting(const Dial& dial) const noexcept {
        return greeting(hello(na::HelloKind::dial, dial.peer().wanted()), dial.purpose());
    }
    void dial_done(Dial& dial, Incoming answer) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;
    // Call when the peer's first frame has arrived over the fabric: the session is then open.
    void session_open(Session& session, const na::Hello& theirs) noexcept;

  private:
    static constexpr unsigned hot_rounds = 2048;

    // Overrides of na::SessionPort.
    [[nodiscard]] Result<std::unique_ptr<na::SessionPeer>> make_peer(const na::Addr& addr) override {
        return na::make_socket_peer<OfiPeer>(*this, addr);
    }
    [[nodiscard]] Errc session_limit() const noexcept override {
        return sessions_.taken() >= options().connections_max ? Errc::overloaded : Errc::ok;
    }
    void begin_dial(na::SessionPeer& peer) noexcept override;
    void end_connection(na::SessionPeer& ending, Errc why) noexcept override;
    void cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept override;
    void stop_events() noexcept override;
    void end_connections() noexcept override;
    void release_all() noexcept override;

    void begin_session(OfiPeer& peer, Session& session, na::Stream stream, const Greeting& theirs,
                       bool dialled) noexcept;
    [[nodiscard]] Session* session_of(ConstBytes frame) noexcept;
    static void malformed(Session& session) noexcept;
    void keep_awake() noexcept;
    [[nodiscard]] bool wants_asking() const noexcept;

    OfiTransport& transport_;
    std::unique_ptr<Endpoint> endpoint_;
    BufferPool messages_;
    Pools pools_;
    Receives receives_;

    SlotPool<Session> sessions_;
    SlotPool<Dial> dials_;
    QueueWatch watch_;
    TimerOf<OfiPort> tick_;

    na::WithdrawnCredentials<OfiPort, Session> withdrawn_credentials_;
    na::OutputLists<Session> output_;
    SendRoom send_room_;
    int connecting_ = 0;  // sessions that have received nothing on the fabric yet
    unsigned idle_rounds_ = hot_rounds;
    TimeUs active_at_ = 0;  // when the endpoint last had a completion
};

}  // namespace cinnabar::ofi
