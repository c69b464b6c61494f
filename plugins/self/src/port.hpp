// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on a `self` network. An op is carried out by the thread that posts it, and completes at the
// next poll. It waits while the peer is being connected or has no free receive slot. Letters to a peer are collected in
// a chain that the next flush posts, so that the peer's mailbox is visited, and its context woken, once for all of
// them.
#pragma once

#include "mailbox.hpp"
#include "transport.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <memory>
#include <vector>

namespace cinnabar::self_ {

// Lives in Op::private_bytes while the op is posted.
struct SelfOp {
    ListLink<SelfOp> link;
    na::Op* op = nullptr;
    Errc result = Errc::ok;
    bool waiting = false;  // in its peer's list of waiting ops; otherwise in the port's list of completed ops
};
using SelfOps = IntrusiveList<SelfOp, &SelfOp::link>;

// Lives as long as its port. There are at most contexts_max peers of the port's own transport, and one for each used
// name of another transport of this process.
class SelfPeer final : public na::Peer {
  public:
    SelfPeer(na::Port& port, na::Addr addr) noexcept : Peer(port, std::move(addr)) {}
    [[nodiscard]] na::ContextId context() const noexcept { return addr().body().context; }
    [[nodiscard]] const std::string& endpoint() const noexcept { return addr().body().endpoints.front(); }

  private:
    friend class SelfPort;
    std::shared_ptr<Mailbox> mailbox_;  // null unless connected
    std::unique_ptr<Letter> farewell_;  // the letter for the disconnect; null if the peer is this context itself
    std::uint64_t connection_ = 0;      // the greater of both numbers if both sides dialled at once
    std::uint64_t refuse_below_ = 0;    // connections with smaller numbers were ended by a disconnect
    Letter* unsent_ = nullptr;          // the first letter of a chain
    Letter* unsent_last_ = nullptr;
    ListLink<SelfPeer> unsent_link_;  // in SelfPort::unsent_ while unsent_ is not null
    SelfOps waiting_;
    ListLink<SelfPeer> busy_link_;  // in SelfPort::busy_ while ops wait
    Errc lost_why_ = Errc::ok;      // why a connection was lost, until poll() has reported it
};

class SelfPort final : public na::Port {
  public:
    SelfPort(SelfTransport& transport, na::PortHost& host, std::shared_ptr<Mailbox> mailbox);
    void close() noexcept override;

    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer&) noexcept override {}
    void disconnect(na::Peer& peer) noexcept override;
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    void cancel(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return true; }  // it has no descriptors
    void flush() noexcept override {
        while (SelfPeer* peer = unsent_.pop_front()) hand_over(*peer);
    }
    [[nodiscard]] bool holds_unsent() const noexcept override { return !unsent_.empty(); }
    [[nodiscard]] bool prepare_wait() noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override;
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override;
    void release(na::Kept& kept) noexcept override;
    void stop_accepting() noexcept override;

  private:
    using BusyPeers = IntrusiveList<SelfPeer, &SelfPeer::busy_link_>;

    // The peer of a context of the same transport; made if it is new. Null: no such context.
    SelfPeer* peer_of(na::ContextId context) noexcept {
        SelfPeer* const known = context < peers_.size() ? peers_[context].get() : nullptr;
        return known ? known : make_peer(context);
    }
    [[gnu::cold, gnu::noinline]] SelfPeer* make_peer(na::ContextId context) noexcept;
    [[nodiscard]] SelfPeer& peer_at(const std::string& endpoint, na::ContextId context);
    [[nodiscard]] SelfPeer* sender_of(const Letter& letter) noexcept;
    template <typename F>
    void for_each_peer(F&& f) {
        for (auto& peer : peers_) {
            if (peer) f(*peer);
        }
        for (std::size_t i = 0; i < others_.size(); ++i) f(*others_[i]);  // f may add peers
    }
    [[nodiscard]] Errc carry_out(na::Op& op, SelfPeer& peer) noexcept;
    [[nodiscard]] Errc send(SelfPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    [[nodiscard]] Errc put_notify(na::Op& op, SelfPeer& peer) noexcept;
    void add_unsent(SelfPeer& peer, Letter& letter) noexcept;
    void hand_over(SelfPeer& peer) noexcept;
    void send_unsent(SelfPeer& peer) noexcept;
    void finish(SelfOp& self_op, Errc result) noexcept;
    void end_waiting(SelfPeer& peer, Errc result) noexcept;
    void dial(SelfPeer& peer) noexcept;
    void dial_failed(SelfPeer& peer, Errc why) noexcept;
    void connected(SelfPeer& peer, std::shared_ptr<Mailbox> mailbox, std::uint64_t connection,
                   std::unique_ptr<Letter> farewell) noexcept;
    void lost(SelfPeer& peer, Errc why) noexcept;
    void tell_lost(SelfPeer& peer) noexcept;
    void tell_disconnect(Mailbox& mailbox, std::uint64_t connection, std::unique_ptr<Letter> letter) noexcept;
    void say_farewell(SelfPeer& peer) noexcept;
    void on_connect(SelfPeer& peer, std::unique_ptr<Letter> letter) noexcept;
    [[nodiscard]] Letter* next_letter() noexcept;
    void deliver(Letter& letter) noexcept;
    void hand_out(Letter& letter, SelfPeer& peer) noexcept;
    unsigned poll_busy() noexcept;
    unsigned poll_inbox() noexcept;
    unsigned poll_done() noexcept;

    SelfTransport& transport_;
    na::PortHost& host_;
    const std::shared_ptr<Mailbox> mailbox_;
    na::MessagePool messages_;
    std::vector<std::unique_ptr<SelfPeer>> peers_;  // of the same transport, by context id
    std::vector<std::unique_ptr<SelfPeer>>
        others_;  // of other transports of this process; their addresses have no incarnation
    BusyPeers busy_;
    IntrusiveList<SelfPeer, &SelfPeer::unsent_link_> unsent_;
    WorkQueue inbox_;          // chains taken from the mailbox and not delivered yet
    Letter* chain_ = nullptr;  // the rest of the chain that is being delivered
    SelfOps done_;
    std::uint32_t detached_ = 0;
    bool closed_ = false;
    unsigned events_ = 0;        // peers whose lost_why_ is set
    bool arrival_kept_ = false;  // the arrival that is being delivered was kept
};

}  // namespace cinnabar::self_
