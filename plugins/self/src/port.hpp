// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on a `self` network. The thread that posts an op carries it out at once; the op completes at
// the next poll. If the peer is not connected yet, the op waits, and so do later ops for that peer; poll() connects,
// and carries out the waiting ops while the peer has free receive slots. Items for a peer are collected in a chain, and
// the next flush posts the chain, so the peer's context is woken once for all of them.
#pragma once

#include "mailbox.hpp"
#include "peer.hpp"
#include "transport.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <memory>
#include <vector>

namespace cinnabar::self_ {

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

    [[nodiscard]] Errc carry_out(na::Op& op, SelfPeer& peer) noexcept;
    [[nodiscard]] Errc send(SelfPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    [[nodiscard]] Errc put_notify(na::Op& op, SelfPeer& peer) noexcept;
    void add_unsent(SelfPeer& peer, MailboxItem& item) noexcept;
    void hand_over(SelfPeer& peer) noexcept;
    void send_unsent(SelfPeer& peer) noexcept;
    void finish(SelfOp& self_op, Errc result) noexcept;
    void end_waiting(SelfPeer& peer, Errc result) noexcept;
    void dial(SelfPeer& peer) noexcept;
    void dial_failed(SelfPeer& peer, Errc why) noexcept;
    void connected(SelfPeer& peer, std::shared_ptr<Mailbox> mailbox, std::uint64_t connection,
                   std::unique_ptr<MailboxItem> disconnect_item) noexcept;
    void lost(SelfPeer& peer, Errc why) noexcept;
    void tell_lost(SelfPeer& peer) noexcept;
    void tell_disconnect(Mailbox& mailbox, std::uint64_t connection, std::unique_ptr<MailboxItem> item) noexcept;
    void announce_disconnect(SelfPeer& peer) noexcept;
    void on_connect(SelfPeer& peer, std::unique_ptr<MailboxItem> item) noexcept;
    void deliver(MailboxItem& item) noexcept;
    void hand_out(MailboxItem& item, SelfPeer& peer) noexcept;
    unsigned poll_busy() noexcept;
    unsigned poll_inbox() noexcept;
    unsigned poll_done() noexcept;

    SelfTransport& transport_;
    na::PortHost& host_;
    const std::shared_ptr<Mailbox> mailbox_;
    na::MessagePool messages_;
    SelfPeers peers_;
    BusyPeers busy_;
    IntrusiveList<SelfPeer, &SelfPeer::unsent_link_> unsent_;
    ItemQueue inbox_;
    SelfOps done_;
    std::uint32_t detached_ = 0;
    bool closed_ = false;
    unsigned events_ = 0;        // peers whose lost_why_ is set
    bool arrival_kept_ = false;  // the arrival that is being delivered was kept
};

}  // namespace cinnabar::self_
