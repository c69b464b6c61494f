// SPDX-License-Identifier: BSD-3-Clause
// Posts, and progress: which connections are read and which are written.
#include "port.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::tcp {
namespace {

// Reads in a row that find nothing before a connection is left to the kernel's watch.
constexpr std::uint16_t misses_max = 256;
// Connections without room that one round tries; when the context sleeps, the kernel watches all of them.
constexpr unsigned blocked_tries_max = 8;
// How long hot_ stays unused after more connections were active than it holds.
constexpr std::uint32_t wide_rounds = 1024;
// While small messages were about this recently, bulk moves in small steps between them. Messages that follow each
// other come closer than that; a call now and then, such as one a window of a file, does not slow bulk down for long.
constexpr TimeUs small_traffic_us = 100;
constexpr std::size_t bulk_slice_small = 8 * 1024;
constexpr std::size_t bulk_slice_large = 1024 * 1024;

}  // namespace

TcpPort::TcpPort(TcpTransport& transport, na::PortHost& host)
    : SocketPort(*this, transport, transport.options(), host,
                 frame_header_bytes + padded(transport.options().message_bytes_max)),
      transport_(transport),
      messages_(host.threads(), options().send_slots_max, options().message_bytes_max, frame_header_bytes,
                7 + frame_header_bytes /* padding, the next header */),
      scratch_(new std::byte[scratch_bytes]),
      lanes_(Threads::one, options().connections_max),
      bulk_lanes_(Threads::one, options().connections_max),
      dials_(Threads::one, options().connections_max),
      access_pools_(options().connections_max) {
    batches_.reserve(batches_kept_max);
    halves_timer_.owner = this;
    halves_timer_.fire = [](Timer& timer) noexcept { TimerOf<TcpPort>::owner_of(timer).look_at_halves(); };
}

void TcpPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    handshakes_.close();
    host().disarm(halves_timer_);
}

Errc TcpPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<TcpPeer&>(*op.peer);
    na::PostedOp& posted = na::make_posted(op);
    if (na::is_message(op.kind)) {
        MessageLane::encode(op);
        if (enqueue(peer, posted) && peer.lane) dirty(*peer.lane);
    } else if (op.remote.key.size() != na::LeaseKey::wire_bytes) {
        end(posted, Errc::invalid_argument);
    } else if (enqueue(peer, posted)) {
        if (peer.bulk) {
            dirty(*peer.bulk);
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

std::unique_ptr<std::byte[]> TcpPort::take_batch() noexcept {
    std::unique_ptr<std::byte[]> batch;
    if (batches_.empty()) {
        batch.reset(new (std::nothrow) std::byte[MessageLane::batch_bytes]);
    } else {
        batch = std::move(batches_.back());
        batches_.pop_back();
    }
    if (batch) ++batches_out_;
    return batch;
}

void TcpPort::give_batch(std::unique_ptr<std::byte[]> batch) noexcept {
    --batches_out_;
    if (batches_.size() < batches_kept_max) batches_.push_back(std::move(batch));  // room is reserved
}

void TcpPort::cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept {
    // Half a message cannot be taken back: it ends as it would have.
    if (!na::is_message(posted.op->kind)) static_cast<TcpPeer&>(peer).bulk->cancel(posted);
}

void TcpPort::dirty(Connection& connection) noexcept {
    if (connection.blocked) return;
    if (Connections::linked(connection)) return;
    if (connection.urgent()) {
        dirty_.push_front(connection);
    } else {
        dirty_.push_back(connection);
    }
}

void TcpPort::blocked(Connection& connection) noexcept {
    unlist(connection);
    connection.blocked = true;
    blocked_.push_back(connection);
}

void TcpPort::unlist(Connection& connection) noexcept {
    if (Connections::linked(connection)) (connection.blocked ? blocked_ : dirty_).remove(connection);
    connection.blocked = false;
}

void TcpPort::closing(Connection& connection) noexcept {
    unlist(connection);
    for (std::size_t i = 0; connection.hot && i < hot_count_; ++i) {
        if (hot_[i] == &connection) cool(i);
    }
}

void TcpPort::touched(Connection& connection) noexcept {
    connection.misses = 0;
    if (connection.hot || wide_rounds_ > 0 || !host().spins()) return;
    if (hot_count_ == hot_max) {
        while (hot_count_ > 0) cool(hot_count_ - 1);
        wide_rounds_ = wide_rounds;
        return;
    }
    connection.hot = true;
    hot_[hot_count_++] = &connection;
    if (connection.urgent()) std::swap(hot_[0], hot_[hot_count_ - 1]);
}

void TcpPort::cool(std::size_t index) noexcept {
    hot_[index]->hot = false;
    hot_[index] = hot_[--hot_count_];
}

unsigned TcpPort::look_at_hot() noexcept {
    if (wide_rounds_ > 0) --wide_rounds_;
    unsigned did = 0;
    for (std::size_t i = 0; i < hot_count_;) {
        Connection& connection = *hot_[i];
        ++connection.misses;
        did += connection.receive();
        if (i >= hot_count_ || hot_[i] != &connection) continue;  // it cooled, or all did
        if (connection.misses > misses_max) {
            cool(i);
        } else {
            ++i;
        }
    }
    return did;
}

void TcpPort::half_came(MessageLane& lane) noexcept {
    if (options().keepalive.count() <= 0) return;
    halves_.push_back(lane);
    ++halves_count_;
    if (!halves_timer_.armed()) host().arm(halves_timer_, lane.rest_due());
}

void TcpPort::half_done(MessageLane& lane) noexcept {
    if (!Halves::linked(lane)) return;
    halves_.remove(lane);
    --halves_count_;
}

void TcpPort::look_at_halves() noexcept {
    const TimeUs now = host().now_us();
    for (std::size_t looks = halves_count_; looks > 0 && !halves_.empty(); --looks) {
        MessageLane& lane = *halves_.pop_front();
        --halves_count_;
        if (lane.rest_due() > now) {
            halves_.push_back(lane);
            ++halves_count_;
        } else {
            lane.look_for_rest();
        }
    }
    TimeUs next = time_never;
    for (const MessageLane* lane = halves_.front(); lane; lane = Halves::next(*lane)) {
        next = std::min(next, lane->rest_due());
    }
    host().disarm(halves_timer_);
    if (next != time_never) host().arm(halves_timer_, next);
    (void)settle();
}

std::size_t TcpPort::bulk_slice() const noexcept {
    return host().now_us() - small_at_ < small_traffic_us ? bulk_slice_small : bulk_slice_large;
}

// In turn, so that those which do not read cost a round no more than a few of them do.
unsigned TcpPort::try_blocked() noexcept {
    unsigned did = 0;
    const Connection* const last = blocked_.back();
    for (unsigned i = 0; i < blocked_tries_max && !blocked_.empty(); ++i) {
        Connection& connection = *blocked_.pop_front();
        connection.blocked = false;
        connection.transmit();
        did += connection.blocked ? 0 : 1;
        if (&connection == last) break;
    }
    return did;
}

unsigned TcpPort::poll() noexcept {
    unsigned did = take_inbox();
    did += look_at_hot();
    if (host().spins()) did += try_blocked();
    did += settle();
    peers_.forget_spares();
    return did;
}

void TcpPort::flush() noexcept {
    Connections now;
    now.splice_back(dirty_);
    while (Connection* connection = now.pop_front()) connection->transmit();
    (void)settle();
}

bool TcpPort::prepare_wait() noexcept {
    if (!dirty_.empty() || has_deferred_work()) return false;
    for (Connection* connection = blocked_.front(); connection; connection = Connections::next(*connection)) {
        connection->watch_room(true);
    }
    return true;
}

}  // namespace cinnabar::tcp
