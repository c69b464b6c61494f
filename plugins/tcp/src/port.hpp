// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on a tcp network: its peers and their lanes, and the lists of lanes to read and write next.
// Owner of the context only, except messages and inbox: any thread.
#pragma once

#include "batch_pool.hpp"
#include "bulk_lane.hpp"
#include "hot_lanes.hpp"
#include "input_deadlines.hpp"
#include "message_lane.hpp"
#include "peer.hpp"
#include "transport.hpp"
#include "unread_lanes.hpp"

#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/output_lists.hpp>
#include <cinnabar/na/session/small_traffic.hpp>
#include <cinnabar/na/session/socket_port.hpp>
#include <cinnabar/na/session/withdrawn_credentials.hpp>

#include <memory>
#include <unordered_map>

namespace cinnabar::tcp {

class TcpPort final : public na::SocketPort<TcpPort, na::IncomingHandshake<TcpPort>, Incoming> {
  public:
    TcpPort(TcpTransport& transport, na::PortHost& host);
    ~TcpPort() override { close(); }

    // Overrides of na::Port.
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    [[nodiscard]] bool holds_unsent() const noexcept override {
        return batches_.taken() != 0 || (transport_.guards() && !output_.blocked().empty());
    }
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return !hot_lanes_.empty(); }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }

    [[nodiscard]] TcpTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] na::AccessPools& access_pools() noexcept { return access_pools_; }
    // Scratch memory for one system call: for messages that are sent together, and for data that are discarded.
    [[nodiscard]] Bytes scratch() noexcept { return {scratch_.get(), scratch_bytes}; }

    // Used by the lanes.
    using Lanes = na::OutputLists<Lane>::List;
    [[nodiscard]] BatchPool& batches() noexcept { return batches_; }
    [[nodiscard]] na::OutputLists<Lane>& output() noexcept { return output_; }
    [[nodiscard]] HotLanes& hot_lanes() noexcept { return hot_lanes_; }
    [[nodiscard]] UnreadLanes& unread() noexcept { return unread_; }
    [[nodiscard]] InputDeadlines& input_deadlines() noexcept { return input_deadlines_; }
    [[nodiscard]] na::WithdrawnCredentials<TcpPort, Lane>& withdrawn_credentials() noexcept {
        return withdrawn_credentials_;
    }
    [[nodiscard]] na::SmallTraffic& small_traffic() noexcept { return small_; }

    // Sessions (sessions.cpp).
    void accept(Incoming incoming) noexcept;
    void reject(Incoming& incoming, Errc why) noexcept;
    [[nodiscard]] Greeting dial_greeting(const Dial& dial) const noexcept;
    void dial_done(Dial& dial, Incoming answer) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;
    void want_bulk(TcpPeer& peer) noexcept;

  private:
    static constexpr std::size_t scratch_bytes = 64 * 1024;

    // Overrides of na::SessionPort.
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

    void dial(TcpPeer& peer, LaneKind lane) noexcept;
    void accept_session(Incoming incoming) noexcept;
    void accept_lane(Incoming incoming) noexcept;
    // Called when the handshake on the socket is done.
    void begin_session(TcpPeer& peer, na::Stream stream, const na::Hello& theirs) noexcept;
    void begin_bulk(TcpPeer& peer, na::Stream stream) noexcept;

    TcpTransport& transport_;
    na::MessagePool messages_;
    std::unique_ptr<std::byte[]> scratch_;
    BatchPool batches_;

    std::unordered_map<LaneToken, TcpPeer*, LaneTokenHash> by_token_;  // peers whose session this side accepted
    SlotPool<MessageLane> lanes_;
    SlotPool<BulkLane> bulk_lanes_;
    SlotPool<Dial> dials_;
    na::AccessPools access_pools_;

    na::OutputLists<Lane> output_;
    UnreadLanes unread_;
    InputDeadlines input_deadlines_;
    na::WithdrawnCredentials<TcpPort, Lane> withdrawn_credentials_;
    HotLanes hot_lanes_;
    na::SmallTraffic small_;
};

}  // namespace cinnabar::tcp
