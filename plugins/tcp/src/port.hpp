// SPDX-License-Identifier: BSD-3-Clause
// One context's door to a tcp network: its peers, the sockets that they have, and what is to be done for them next.
// Owner of the context only, but for messages and inbox.
#pragma once

#include "bulk_lane.hpp"
#include "handshake.hpp"
#include "message_lane.hpp"
#include "peer.hpp"
#include "transport.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/newcomers.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/put_off.hpp>
#include <cinnabar/na/session/receive_blocks.hpp>
#include <cinnabar/na/transport.hpp>

#include <array>
#include <memory>
#include <unordered_map>

namespace cinnabar::tcp {

class TcpPort final : public na::Port {
  public:
    TcpPort(TcpTransport& transport, na::PortHost& host);
    ~TcpPort() override;

    // na::Port
    void close() noexcept override;
    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer& peer) noexcept override;
    void disconnect(na::Peer& peer) noexcept override;
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    void cancel(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return hot_count_ > 0; }
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
    void stop_accepting() noexcept override;

    [[nodiscard]] TcpTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return transport_.options(); }
    [[nodiscard]] na::PortHost& host() const noexcept { return host_; }
    [[nodiscard]] na::ReceiveBlocks& blocks() noexcept { return blocks_; }
    [[nodiscard]] na::AccessPools& access_pools() noexcept { return access_pools_; }
    [[nodiscard]] na::Inbox<Handover>& inbox() noexcept { return inbox_; }
    // Working room for one system call: coalesced sends, discarded data.
    [[nodiscard]] Bytes scratch() noexcept { return {scratch_.get(), scratch_bytes}; }

    // What the connections report (port.cpp).
    void dirty(Connection& connection) noexcept;    // it has something to write
    void blocked(Connection& connection) noexcept;  // it has, and the kernel has no room
    void unlist(Connection& connection) noexcept;   // it is about to write: neither dirty nor blocked
    void closing(Connection& connection) noexcept;  // it is about to close: forget it
    void touched(Connection& connection) noexcept;  // something came: look at it first for a while
    void small_traffic() noexcept { small_at_ = host_.now_us(); }
    void half_came(MessageLane& lane) noexcept;  // it holds half a message: not for ever
    void half_done(MessageLane& lane) noexcept;  // it does not, or not any more
    // How much a bulk lane may move in one go: less while small messages are about.
    [[nodiscard]] std::size_t bulk_slice() const noexcept;
    // Completes it once the stack has unwound.
    void end(Posted& posted, Errc result) noexcept { put_off_.end(posted, result); }
    // Runs what was put off until the stack had unwound: completions, ends of sessions.
    unsigned settle() noexcept;

    // Sessions (sessions.cpp).
    [[nodiscard]] na::Hello hello(na::HelloKind kind, const na::Identity& to) const noexcept {
        return na::make_hello(kind, transport_, host_, to);
    }
    void came_in(Handover newcomer) noexcept;
    void reject(int fd, const na::Hello& from, Errc why) noexcept;
    void dial_done(Dial& dial, UniqueFd fd, const Greeting& answer) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;
    void end_session(TcpPeer& peer, Errc why) noexcept;  // once the stack has unwound
    void want_bulk(TcpPeer& peer) noexcept;
    [[nodiscard]] na::Newcomers<TcpPort, Newcomer>& newcomers() noexcept { return newcomers_; }

  private:
    static constexpr std::size_t scratch_bytes = 64 * 1024;
    static constexpr std::size_t hot_max = 4;

    [[nodiscard]] Errc post_message(TcpPeer& peer, Posted& posted) noexcept;
    [[nodiscard]] Errc post_rma(TcpPeer& peer, Posted& posted) noexcept;
    [[nodiscard]] bool connect(TcpPeer& peer) noexcept;
    void dial(TcpPeer& peer, Lane lane) noexcept;
    [[nodiscard]] bool full() const noexcept { return lanes_.taken() >= options().connections_max; }
    void session_came_in(Handover newcomer) noexcept;
    void session_dialled(TcpPeer& peer, UniqueFd fd, const Greeting& answer) noexcept;
    void lane_came_in(Handover newcomer) noexcept;
    void forget_token(const TcpPeer& peer) noexcept;
    // By a socket on which both Hellos are done.
    void begin_session(TcpPeer& peer, UniqueFd fd, const SessionTerms& terms) noexcept;
    void begin_bulk(TcpPeer& peer, UniqueFd fd) noexcept;
    void session_over(TcpPeer& peer, Errc why) noexcept;
    unsigned look_at_hot() noexcept;
    void cool(std::size_t index) noexcept;
    void look_at_halves() noexcept;

    TcpTransport& transport_;
    na::PortHost& host_;
    na::MessagePool messages_;
    na::ReceiveBlocks blocks_;
    std::unique_ptr<std::byte[]> scratch_;

    na::PeersOf<TcpPeer> peers_;
    std::unordered_map<LaneToken, TcpPeer*, LaneTokenHash> by_token_;  // whose session was accepted here
    SlotPool<MessageLane> lanes_;
    SlotPool<BulkLane> bulk_lanes_;
    SlotPool<Dial> dials_;
    na::AccessPools access_pools_;
    na::Inbox<Handover> inbox_;
    na::Newcomers<TcpPort, Newcomer> newcomers_;

    using Connections = IntrusiveList<Connection, &Connection::output_link>;
    Connections dirty_;
    Connections blocked_;
    na::PutOff<TcpPeer, Posted> put_off_;

    using Halves = IntrusiveList<MessageLane, &MessageLane::half_link>;
    Halves halves_;
    std::size_t halves_count_ = 0;
    TimerOf<TcpPort> halves_timer_;  // armed while there are any

    std::array<Connection*, hot_max> hot_{};
    std::size_t hot_count_ = 0;
    std::uint32_t wide_rounds_ = 0;  // more connections are active than hot_ holds: leave them all to the kernel
    TimeUs small_at_ = 0;
    bool accepting_ = true;
    bool closed_ = false;
};

}  // namespace cinnabar::tcp
