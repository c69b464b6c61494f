// SPDX-License-Identifier: BSD-3-Clause
// The port of a context on a sealed transport: its peers and sessions; uses a port of the transport below. Owner of the
// context only.
#pragma once

#include "sealed/below_side.hpp"
#include "sealed/peer.hpp"
#include "sealed/pending_proofs.hpp"
#include "sealed/session.hpp"
#include "sealed/shipments.hpp"
#include "sealed/transport.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/output_lists.hpp>
#include <cinnabar/na/session/receive_blocks.hpp>
#include <cinnabar/na/session/remote_access.hpp>
#include <cinnabar/na/session/session_port.hpp>
#include <cinnabar/na/session/withdrawn_credentials.hpp>

#include <memory>

namespace cinnabar::tls {

class SealedPort final : public na::SessionPort {
  public:
    SealedPort(SealedTransport& transport, na::PortHost& host);
    ~SealedPort() override { close(); }
    [[nodiscard]] Result<void> open();

    // Overrides of na::Port.
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    [[nodiscard]] bool holds_unsent() const noexcept override {
        return shipments_.taken() > 0 || (below_ && below_->holds_unsent());
    }
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return below_->hot(); }
    void flush() noexcept override;
    [[nodiscard]] bool prepare_wait() noexcept override;
    void idle(TimeUs until) noexcept override { below_->idle(until); }
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        return blocks_.keep(arrival, *this, out);
    }
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override { return blocks_.detach(kept, closed()); }
    void release(na::Kept& kept) noexcept override { blocks_.release(kept); }

    [[nodiscard]] SealedTransport& transport() const noexcept { return transport_; }

    // Used by the sessions.
    [[nodiscard]] SlotPool<SealedSession>& sessions() noexcept { return sessions_; }
    [[nodiscard]] na::OutputLists<SealedSession>& output() noexcept { return output_; }
    [[nodiscard]] na::WithdrawnCredentials<SealedPort, SealedSession>& withdrawn_credentials() noexcept {
        return withdrawn_credentials_;
    }
    [[nodiscard]] na::AccessPools& access_pools() noexcept { return access_pools_; }
    [[nodiscard]] na::ReceiveBlocks& blocks() noexcept { return blocks_; }
    [[nodiscard]] PendingProofs& pending() noexcept { return pending_; }
    [[nodiscard]] Shipments& shipments() noexcept { return shipments_; }
    [[nodiscard]] na::Port& below() const noexcept { return *below_; }
    // Removes the session from all lists.
    void forget(SealedSession& session) noexcept;
    // Ends a session that has no peer, deferred.
    void end_soon(SealedSession& session) noexcept;
    // Runs the deferred work; never inside a function of the port below. Returns how much it did.
    unsigned tidy() noexcept;
    // Handles the first sealed message of the other side, its greeting. `wrong`: why it cannot be accepted; ok: it can.
    void greeted(SealedSession& session, const SealedGreeting& theirs, Errc wrong) noexcept;

    // Used by BelowSide.
    void accept(na::Peer& below) noexcept;
    void start_dial(SealedPeer& peer) noexcept;

  private:
    // Overrides of na::SessionPort.
    [[nodiscard]] Result<std::unique_ptr<na::SessionPeer>> make_peer(const na::Addr& addr) override;
    [[nodiscard]] Errc session_limit() const noexcept override {
        return session_count() >= options().connections_max ? Errc::overloaded : Errc::ok;
    }
    void begin_dial(na::SessionPeer& peer) noexcept override;
    void end_connection(na::SessionPeer& ending, Errc why) noexcept override;
    void cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept override;
    void stop_events() noexcept override;
    void end_connections() noexcept override;
    void release_all() noexcept override;

    void answered(SealedSession& session, const SealedGreeting& theirs, Errc wrong) noexcept;

    SealedTransport& transport_;
    BelowSide side_;
    std::unique_ptr<na::Port> below_;
    na::MessagePool messages_;
    na::ReceiveBlocks blocks_;
    na::AccessPools access_pools_;
    Shipments shipments_;
    SlotPool<SealedSession> sessions_;
    PendingProofs pending_;
    na::OutputLists<SealedSession> output_;
    IntrusiveList<SealedSession, &SealedSession::leaving_link> leaving_;
    na::WithdrawnCredentials<SealedPort, SealedSession> withdrawn_credentials_;
    WheelTimer retry_;  // wakes the context while sessions are blocked
};

}  // namespace cinnabar::tls
