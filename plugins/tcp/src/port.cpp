// SPDX-License-Identifier: BSD-3-Clause
// TcpPort: posting and progress. Chooses which lanes are read and written.
#include "port.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::tcp {
namespace {

// How many blocked lanes are retried per round. While the context sleeps, epoll watches all of them.
constexpr unsigned blocked_tries_max = 8;

}  // namespace

TcpPort::TcpPort(TcpTransport& transport, na::PortHost& host)
    : SocketPort(*this, transport, transport.options(), host,
                 frame_header_bytes + padded(transport.options().message_bytes_max)),
      transport_(transport),
      messages_(host.threads(), options().send_slots_max, options().message_bytes_max, frame_header_bytes,
                7 + frame_header_bytes /* padding, the next header */),
      scratch_(new std::byte[scratch_bytes]),
      lanes_(ThreadUse::one, options().connections_max),
      bulk_lanes_(ThreadUse::one, options().connections_max),
      dials_(ThreadUse::one, options().connections_max),
      access_pools_(options().connections_max),
      input_deadlines_(*this),
      withdrawn_credentials_(*this),
      hot_lanes_(host) {}

void TcpPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    handshakes_.close();
    input_deadlines_.stop();
}

Errc TcpPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<TcpPeer&>(*op.peer);
    na::PostedOp& posted = na::make_posted(op);
    if (na::is_message(op.kind)) {
        MessageLane::encode(op);
        if (enqueue(peer, posted) && peer.lane) output_.add_first(*peer.lane);
    } else if (op.remote.key.size() != na::LeaseKey::wire_bytes) {
        end(posted, Errc::invalid_argument);
    } else if (enqueue(peer, posted)) {
        if (peer.bulk) {
            output_.add(*peer.bulk);
        } else if (peer.lane) {
            want_bulk(peer);
        }
    }
    return Errc::ok;
}

bool TcpPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<TcpPeer&>(to);
    return peer.lane && !peer.ending() && peer.messages.empty() && peer.lane->send_now(kind, tag, message);
}

void TcpPort::cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept {
    // A message that was sent in part cannot be canceled: it completes normally.
    if (!na::is_message(posted.op->kind)) static_cast<TcpPeer&>(peer).bulk->cancel(posted);
}

unsigned TcpPort::poll() noexcept {
    unsigned did = take_inbox();
    did += hot_lanes_.receive();
    if (!unread_.empty()) [[unlikely]]
        did += unread_.receive();
    if (host().spins()) did += output_.transmit_blocked(blocked_tries_max);
    did += settle();
    peers_.forget_spares();
    return did;
}

void TcpPort::flush() noexcept {
    output_.transmit();
    (void)settle();
}

bool TcpPort::prepare_wait() noexcept {
    if (!output_.empty() || !unread_.empty() || has_deferred_work()) return false;
    for (Lane* lane = output_.blocked().front(); lane; lane = Lanes::next(*lane)) {
        lane->watch_room(true);
    }
    return true;
}

}  // namespace cinnabar::tcp
