// SPDX-License-Identifier: BSD-3-Clause
// One context's door to a fabric: its endpoint, its peers, and what is to be done for them next. Owner of the context
// only, but for messages and inbox.
#pragma once

#include "buffers.hpp"
#include "endpoint.hpp"
#include "handshake.hpp"
#include "peer.hpp"
#include "receives.hpp"
#include "session.hpp"
#include "transport.hpp"

#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/newcomers.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/put_off.hpp>
#include <cinnabar/na/session/receive_blocks.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>
#include <memory>

namespace cinnabar::ofi {

class OfiPort;

// The provider's descriptor in the context's epoll set.
class QueueWatch final : public na::FdEvents {
  public:
    explicit QueueWatch(OfiPort& port) noexcept : port_(port) {}
    // False, with errno, when the kernel refuses. Below 0: there is none.
    [[nodiscard]] bool watch(int fd) noexcept;
    void stop() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept override;

  private:
    OfiPort& port_;
    int fd_ = -1;
    bool by_edges_ = false;
    TimeUs fruitless_since_ = 0;  // 0: the last event was of use
};

class OfiPort final : public na::Port {
  public:
    OfiPort(OfiTransport& transport, na::PortHost& host, std::unique_ptr<Endpoint> endpoint);
    ~OfiPort() override;
    // Posts the receives and watches what there is to watch.
    [[nodiscard]] Result<void> open();

    // na::Port
    void close() noexcept override;
    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer& peer) noexcept override;
    void disconnect(na::Peer& peer) noexcept override;
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    void cancel(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return idle_rounds_ < hot_rounds; }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(static_cast<Buffer&>(message)); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        return blocks_.keep(arrival, *this, out);
    }
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override { return blocks_.detach(kept, closed_); }
    void release(na::Kept& kept) noexcept override {
        CINNABAR_ASSERT(kept.port == this);
        blocks_.release(kept);
    }
    void stop_accepting() noexcept override { accepting_ = false; }

    [[nodiscard]] OfiTransport& transport() const noexcept { return transport_; }
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return transport_.options(); }
    [[nodiscard]] const Provider& provider() const noexcept { return transport_.provider(); }
    [[nodiscard]] na::PortHost& host() const noexcept { return host_; }
    [[nodiscard]] Endpoint& endpoint() noexcept { return *endpoint_; }
    [[nodiscard]] na::ReceiveBlocks& blocks() noexcept { return blocks_; }
    [[nodiscard]] BufferPool& messages() noexcept { return messages_; }
    [[nodiscard]] BufferPool& notes() noexcept { return notes_; }
    [[nodiscard]] SlotPool<Transfer>& transfers() noexcept { return transfers_; }
    [[nodiscard]] SlotPool<Owed>& owed() noexcept { return owed_; }
    [[nodiscard]] SlotPool<Chunk>& chunks() noexcept { return chunks_; }
    [[nodiscard]] SlotPool<Session>& sessions() noexcept { return sessions_; }
    // Of pools that all sessions share, for one of them. When one is used up, the session that holds the most of it
    // ends instead of the one that asks (docs/limits.md). Null: that is the same one, or memory is short; of transfers
    // also until the other's come back.
    [[nodiscard]] Buffer* take_note(Session& asks) noexcept;
    [[nodiscard]] Owed* take_owed(Session& asks) noexcept;
    [[nodiscard]] Transfer* take_transfer(Session& asks) noexcept;
    // There is no room for a chunk of a put. If all of it is granted, the other session whose peer was silent for
    // longest ends, if that is more than writer_silence_us.
    void end_silent_writer(const Session& asks) noexcept;
    // Room for a chunk; null when memory is out. What is `served` to peers has its own: they wait for it, and each may
    // be waited for by the other.
    [[nodiscard]] Staging* take_staging(bool served) noexcept;
    void give_staging(Staging& staging) noexcept { staging.pool->release(staging); }
    // Whether a large get may post its chunks: it has begun to, or none has.
    [[nodiscard]] bool may_post_get(Transfer& transfer) noexcept {
        if (!posting_get_) posting_get_ = &transfer;
        return posting_get_ == &transfer;
    }
    void posted_get(Transfer& transfer) noexcept {
        if (posting_get_ == &transfer) posting_get_ = nullptr;
    }
    // Where chunks go that nobody wants any more.
    [[nodiscard]] Staging* sink() noexcept;
    [[nodiscard]] na::Inbox<Caller>& inbox() noexcept { return inbox_; }
    [[nodiscard]] na::Newcomers<OfiPort, Newcomer>& newcomers() noexcept { return newcomers_; }

    void dirty(Session& session) noexcept;    // it has something to send
    void stalled(Session& session) noexcept;  // it has, and the provider has no room
    void unlist(Session& session) noexcept;   // neither of both
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    void connecting(int change) noexcept { connecting_ += change; }
    // What sessions have with the provider, whose room they share (fi_tx_attr::size): each may have half of what the
    // others leave, so that those which do not go on cannot take all of it.
    void sends(int change) noexcept { sends_ += change; }
    [[nodiscard]] std::uint32_t unconfirmed_allowed() const noexcept {
        const auto room = static_cast<std::int64_t>(endpoint_->sends_max()) - sends_;
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(room / 2, 1, Session::unconfirmed_max));
    }
    void frame_came(ConstBytes bytes, na::ReceiveBlock& block, fi_addr_t source) noexcept;
    // Completes it once the stack has unwound.
    void end(Posted& posted, Errc result) noexcept { put_off_.end(posted, result); }
    // Runs what was put off until the stack had unwound: completions, ends of sessions.
    unsigned settle() noexcept;
    // Asks the provider; returns how much came of it.
    unsigned poll_endpoint() noexcept;

    // Sessions (sessions.cpp).
    [[nodiscard]] na::Hello hello(na::HelloKind kind, const na::Identity& to) const noexcept {
        return na::make_hello(kind, transport_, host_, to);
    }
    [[nodiscard]] Card card(const na::Hello& hello, const Session* session) const noexcept;
    void reject(const Caller& caller, Errc why) noexcept;
    void came_in(Caller caller) noexcept;  // a newcomer's greeting is there
    void dial_done(Dial& dial, UniqueFd fd, const Card& answer) noexcept;
    void dial_failed(Dial& dial, Errc why) noexcept;
    void session_open(Session& session, const na::Hello& hello) noexcept;  // the fabric carries messages
    void end_session(OfiPeer& peer, Errc why) noexcept;                    // once the stack has unwound

  private:
    static constexpr unsigned hot_rounds = 2048;

    [[nodiscard]] bool connect(OfiPeer& peer) noexcept;
    void dial(OfiPeer& peer) noexcept;
    void drop_dial(OfiPeer& peer) noexcept;
    [[nodiscard]] bool full() const noexcept { return sessions_.taken() >= options().connections_max; }
    void let_in(Caller caller) noexcept;
    void session_over(OfiPeer& peer, Errc why) noexcept;
    void transmit_all(bool with_stalled) noexcept;
    void keep_awake() noexcept;
    [[nodiscard]] bool end_largest(std::uint32_t (Session::*held)() const noexcept, Session& asks) noexcept;
    [[nodiscard]] bool wants_asking() const noexcept;
    unsigned check_fences() noexcept;

    OfiTransport& transport_;
    na::PortHost& host_;
    std::unique_ptr<Endpoint> endpoint_;
    BufferPool messages_;
    BufferPool notes_;
    na::ReceiveBlocks blocks_;
    Receives receives_;
    SlotPool<Staging> staging_;         // of this side's operations
    SlotPool<Staging> served_staging_;  // of the peers'
    Staging* sink_ = nullptr;

    na::PeersOf<OfiPeer> peers_;
    SlotPool<Session> sessions_;
    SlotPool<Dial> dials_;
    SlotPool<Transfer> transfers_;
    Transfer* posting_get_ = nullptr;
    TimeUs silent_looked_at_ = 0;
    SlotPool<Owed> owed_;
    SlotPool<Chunk> chunks_;
    na::Inbox<Caller> inbox_;
    na::Newcomers<OfiPort, Newcomer> newcomers_;
    QueueWatch watch_;
    TimerOf<OfiPort> tick_;

    using Sessions = IntrusiveList<Session, &Session::output_link>;
    Sessions dirty_;
    Sessions stalled_;
    na::PutOff<OfiPeer, Posted> put_off_;
    int sends_ = 0;
    int connecting_ = 0;  // sessions that the fabric has not carried anything of
    unsigned idle_rounds_ = hot_rounds;
    TimeUs active_at_ = 0;  // when something last came of the endpoint
    bool accepting_ = true;
    bool closed_ = false;
};

}  // namespace cinnabar::ofi
