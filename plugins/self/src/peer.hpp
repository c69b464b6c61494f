// SPDX-License-Identifier: BSD-3-Clause
// A peer of a port on a `self` network, and the table of all of them. Owner of the context only.
#pragma once

#include "mailbox.hpp"
#include "transport.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>
#include <string>
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

// Lives as long as its port. A port has at most contexts_max peers of its own transport, and one peer for each context
// of another transport of this process that the port was asked for.
class SelfPeer final : public na::Peer {
  public:
    SelfPeer(na::Port& port, na::Addr addr) noexcept : Peer(port, std::move(addr)) {}
    [[nodiscard]] na::ContextId context() const noexcept { return addr().body().context; }
    [[nodiscard]] const std::string& endpoint() const noexcept { return addr().body().endpoints.front(); }

  private:
    friend class SelfPort;
    friend class SelfPeers;
    std::shared_ptr<Mailbox> mailbox_;  // null unless connected
    // The item for the disconnect; null if the peer is this context itself.
    std::unique_ptr<MailboxItem> disconnect_item_;
    std::uint64_t connection_ = 0;    // the greater of both numbers if both sides dialled at once
    std::uint64_t refuse_below_ = 0;  // connections with smaller numbers were ended by a disconnect
    MailboxItem* unsent_ = nullptr;   // the first item of a chain
    MailboxItem* unsent_last_ = nullptr;
    ListLink<SelfPeer> unsent_link_;  // in SelfPort::unsent_ while unsent_ is not null
    SelfOps waiting_;
    ListLink<SelfPeer> busy_link_;  // in SelfPort::busy_ while ops wait
    Errc lost_why_ = Errc::ok;      // why a connection was lost, until poll() has reported it
};

// Peers live as long as the table.
class SelfPeers {
  public:
    SelfPeers(na::Port& port, SelfTransport& transport);

    // Returns the peer of a context of the same transport; makes it if there is none yet. Null: the transport has no
    // such context. May throw bad_alloc, with nothing changed.
    [[nodiscard]] SelfPeer* of(na::ContextId context) {
        SelfPeer* const known = context < own_.size() ? own_[context].get() : nullptr;
        return known ? known : make(context);
    }
    // Returns the peer of a context of another transport of this process; makes it if there is none yet. The peer is
    // found by the name of that transport, so the same peer is returned after the transport was closed and opened
    // again. May throw bad_alloc, with nothing changed.
    [[nodiscard]] SelfPeer& at(const std::string& endpoint, na::ContextId context);
    // Null: the connection of the item has ended; or the item is a `connect`, and there is no memory for its peer.
    [[nodiscard]] SelfPeer* sender_of(const MailboxItem& item) noexcept;
    template <typename F>
    void for_each(F&& f) {
        for (auto& peer : own_) {
            if (peer) f(*peer);
        }
        for (std::size_t i = 0; i < others_.size(); ++i) f(*others_[i]);  // f may add peers
    }

  private:
    [[gnu::cold, gnu::noinline]] SelfPeer* make(na::ContextId context);

    na::Port& port_;
    SelfTransport& transport_;
    std::vector<std::unique_ptr<SelfPeer>> own_;     // of the same transport, by context id
    std::vector<std::unique_ptr<SelfPeer>> others_;  // of other transports; their addresses have no incarnation
};

}  // namespace cinnabar::self_
