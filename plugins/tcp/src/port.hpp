// SPDX-License-Identifier: BSD-3-Clause
// A context's port on a tcp network: its peers, their connections, and which of these are read and written next. Owner
// of the context only, but for messages and inbox.
#pragma once

#include "bulk_lane.hpp"
#include "message_lane.hpp"
#include "peer.hpp"
#include "transport.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/socket_port.hpp>

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cinnabar::tcp {

class TcpPort final : public na::SocketPort<TcpPort, na::IncomingHandshake<TcpPort>, Incoming> {
  public:
    TcpPort(TcpTransport& transport, na::PortHost& host);
    ~TcpPort() override { close(); }

    // na::Port
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    [[nodiscard]] bool holds_unsent() const noexcept override { return batches_out_ != 0; }
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return hot_count_ > 0; }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }

    [[nodiscard]] TcpTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] na::AccessPools& access_pools() noexcept { return access_pools_; }
    // Working room for one system call: coalesced sends, discarded data.
    [[nodiscard]] Bytes scratch() noexcept { return {scratch_.get(), scratch_bytes}; }

    // Where a connection gathers frames until they have left; null when memory is short.
    [[nodiscard]] std::unique_ptr<std::byte[]> take_batch() noexcept;
    void give_batch(std::unique_ptr<std::byte[]> batch) noexcept;

    // What the connections report (port.cpp).
    void dirty(Connection& connection) noexcept;    // it has something to write
    void blocked(Connection& connection) noexcept;  // it has, and the kernel has no room
    void unlist(Connection& connection) noexcept;   // it is about to write: neither dirty nor blocked
    void closing(Connection& connection) noexcept;  // it is about to close: forget it
    void touched(Connection& connection) noexcept;  // something came: look at it first for a while
    void small_traffic() noexcept { small_at_ = host().now_us(); }
    void half_came(MessageLane& lane) noexcept;  // it holds half a message: not for ever
    void half_done(MessageLane& lane) noexcept;  // it does not, or not any more
    // How much a bulk lane may move in one go: less while small messages are about.
    [[nodiscard]] std::size_t bulk_slice() const noexcept;

    // Sessions (sessions.cpp).
    void accept(Incoming incoming) noexcept;
    void reject(const Incoming& incoming, Errc why) noexcept;
    [[nodiscard]] Greeting dial_greeting(const Dial& dial) const noexcept;
    void dial_done(Dial& dial, Incoming answer) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;
    void want_bulk(TcpPeer& peer) noexcept;

  private:
    static constexpr std::size_t scratch_bytes = 64 * 1024;
    static constexpr std::size_t batches_kept_max = 256;
    static constexpr std::size_t hot_max = 4;

    // na::SessionPort
    [[nodiscard]] Result<std::unique_ptr<na::SessionPeer>> make_peer(const na::Addr& addr) override {
        return na::make_socket_peer<TcpPeer>(*this, addr);
    }
    [[nodiscard]] Errc session_limit() const noexcept override {
        return lanes_.taken() >= options().connections_max ? Errc::overloaded : Errc::ok;
    }
    void begin_dial(na::SessionPeer& peer) noexcept override;
    void end_connection(na::SessionPeer& ending, Errc why) noexcept override;
    void cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept override;
    void stop_events() noexcept override;

    void dial(TcpPeer& peer, Lane lane) noexcept;
    void drop_dial(Dial*& dial) noexcept;
    void accept_session(Incoming incoming) noexcept;
    void accept_lane(Incoming incoming) noexcept;
    // On a socket on which both have greeted.
    void begin_session(TcpPeer& peer, UniqueFd fd, const na::Hello& theirs) noexcept;
    void begin_bulk(TcpPeer& peer, UniqueFd fd) noexcept;
    unsigned look_at_hot() noexcept;
    unsigned try_blocked() noexcept;
    void cool(std::size_t index) noexcept;
    void look_at_halves() noexcept;

    TcpTransport& transport_;
    na::MessagePool messages_;
    std::unique_ptr<std::byte[]> scratch_;
    std::vector<std::unique_ptr<std::byte[]>> batches_;  // not in use
    std::uint32_t batches_out_ = 0;

    std::unordered_map<LaneToken, TcpPeer*, LaneTokenHash> by_token_;  // whose session was accepted here
    SlotPool<MessageLane> lanes_;
    SlotPool<BulkLane> bulk_lanes_;
    SlotPool<Dial> dials_;
    na::AccessPools access_pools_;

    using Connections = IntrusiveList<Connection, &Connection::output_link>;
    Connections dirty_;
    Connections blocked_;

    using Halves = IntrusiveList<MessageLane, &MessageLane::half_link>;
    Halves halves_;
    std::size_t halves_count_ = 0;
    TimerOf<TcpPort> halves_timer_;  // armed while there are any

    std::array<Connection*, hot_max> hot_{};
    std::size_t hot_count_ = 0;
    std::uint32_t wide_rounds_ = 0;  // more connections are active than hot_ holds: leave them all to the kernel
    TimeUs small_at_ = 0;
};

}  // namespace cinnabar::tcp
