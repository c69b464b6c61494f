// SPDX-License-Identifier: BSD-3-Clause
// SealedPort: posting, progress, and closing.
#include "sealed/port.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tls {
namespace {

// The most ended sessions whose messages the transport below has not returned yet, in addition to the open ones.
constexpr std::uint32_t ending_sessions_max = 1024;
constexpr unsigned blocked_sessions_per_round = 8;
constexpr TimeUs retry_us = 1'000;

}  // namespace

SealedPort::SealedPort(SealedTransport& transport, na::PortHost& host)
    : SessionPort(transport, transport.options(), host),
      transport_(transport),
      side_(*this, host),
      messages_(host.threads(), transport.options().send_slots_max, transport.options().message_bytes_max),
      blocks_(transport.below_message_bytes_max(), transport.options().receive_slots),
      access_pools_(transport.options().connections_max),
      shipments_(transport.options().send_slots_max),
      sessions_(ThreadUse::one, transport.options().connections_max + PendingProofs::pending_max + ending_sessions_max),
      withdrawn_credentials_(*this) {
    retry_.fire = [](WheelTimer&) noexcept {};  // the round that follows retries
}

Result<void> SealedPort::open() {
    CINNABAR_TRY(below_, transport_.below().open_port(side_));
    shipments_.open(*below_);
    return {};
}

Errc SealedPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<SealedPeer&>(*op.peer);
    na::PostedOp& posted = na::make_posted(op);
    if (!na::is_message(op.kind) && op.remote.key.size() != na::LeaseKey::wire_bytes) {
        end(posted, Errc::invalid_argument);
    } else if (enqueue(peer, posted) && peer.session_state() == na::SessionState::open) {
        output_.add(*peer.session);
    }
    return Errc::ok;
}

bool SealedPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<SealedPeer&>(to);
    return peer.session_state() == na::SessionState::open && peer.session->send_now(kind, tag, message);
}

void SealedPort::cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept {
    static_cast<SealedPeer&>(peer).session->cancel(posted);
}

unsigned SealedPort::poll() noexcept {
    unsigned did = below_->poll();
    (void)output_.transmit_blocked(blocked_sessions_per_round);
    did += tidy();
    peers_.forget_spares();
    if (!output_.blocked().empty() && !retry_.armed()) host().arm(retry_, host().now_us() + retry_us);
    return did;
}

void SealedPort::flush() noexcept {
    if (closed()) return;
    output_.transmit();
    below_->flush();
    if (anything_deferred() || !leaving_.empty()) (void)tidy();
}

bool SealedPort::prepare_wait() noexcept {
    if (!output_.empty() || !leaving_.empty() || anything_deferred()) return false;
    // A session was blocked since the last poll.
    if (!output_.blocked().empty() && !retry_.armed()) return false;
    return below_->prepare_wait();
}

unsigned SealedPort::tidy() noexcept {
    unsigned did = settle();
    while (SealedSession* const session = leaving_.front()) {
        session->end(Errc::peer_lost);
        ++did;
    }
    return did;
}

void SealedPort::end_soon(SealedSession& session) noexcept {
    if (!decltype(leaving_)::linked(session)) leaving_.push_back(session);
}

void SealedPort::forget(SealedSession& session) noexcept {
    output_.remove(session);
    if (decltype(leaving_)::linked(session)) leaving_.remove(session);
    withdrawn_credentials_.remove(session);
    transport_.self_dial_numbers().remove(session.dial_number());
}

// Closing.

void SealedPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    if (retry_.armed()) host().disarm(retry_);
    if (below_) below_->close();  // returns all messages
}

void SealedPort::end_connections() noexcept {
    sessions_.for_each([](SealedSession& session) { session.abandon(); });
}

void SealedPort::release_all() noexcept {
    peers_.each([](na::SessionPeer& peer) { static_cast<SealedPeer&>(peer).forget_below(); });
}

}  // namespace cinnabar::tls
