// SPDX-License-Identifier: BSD-3-Clause
// Progress: who is looked at, who writes, and what was put off until the stack had unwound.
#include "port.hpp"

#include <cinnabar/na/session/sessions.hpp>

#include <algorithm>

namespace cinnabar::tcp {
namespace {

// Reads in a row that find nothing before a connection is left to the kernel's watch.
constexpr std::uint16_t misses_max = 256;
// How long hot_ stays unused after more connections were active than it holds.
constexpr std::uint32_t wide_rounds = 1024;
// While small messages were about this recently, bulk moves in small steps between them. Messages that follow each
// other come closer than that; a call now and then, such as one a window of a file, does not slow bulk down for long.
constexpr TimeUs small_traffic_us = 100;
constexpr std::size_t bulk_slice_small = 8 * 1024;
constexpr std::size_t bulk_slice_large = 1024 * 1024;

}  // namespace

TcpPort::TcpPort(TcpTransport& transport, na::PortHost& host)
    : transport_(transport),
      host_(host),
      messages_(host.threads(), transport.options().send_slots_max, transport.options().message_bytes_max,
                frame_header_bytes, 7 + frame_header_bytes /* padding, the next header */),
      blocks_(frame_header_bytes + padded(transport.options().message_bytes_max), transport.options().receive_slots),
      scratch_(new std::byte[scratch_bytes]),
      peers_(host),
      lanes_(Threads::one, transport.options().connections_max),
      bulk_lanes_(Threads::one, transport.options().connections_max),
      dials_(Threads::one, transport.options().connections_max),
      access_pools_(transport.options().connections_max),
      newcomers_(*this, host, "tcp") {
    halves_timer_.owner = this;
    halves_timer_.fire = [](Timer& timer) noexcept { TimerOf<TcpPort>::owner_of(timer).look_at_halves(); };
}

void TcpPort::close() noexcept {
    if (std::exchange(closed_, true)) return;
    transport_.port_closed(*this, host_.context_id());
    newcomers_.close();
    by_token_.clear();
    accepting_ = false;
    put_off_.close();  // no event and no new session from what follows
    peers_.each([this](TcpPeer& peer) {
        if (peer.bulk) {
            peer.bulk->end(Errc::canceled);
            bulk_lanes_.release(*peer.bulk);
        }
        if (peer.lane) {
            peer.lane->end();
            lanes_.release(*peer.lane);
        }
        for (Dial* dial : {peer.dial, peer.bulk_dial}) {
            if (!dial) continue;
            dial->abandon();
            dials_.release(*dial);
        }
        peer.lane = nullptr;
        peer.bulk = nullptr;
        peer.dial = peer.bulk_dial = nullptr;
        peer.set_idle();
        na::fail_waiting(*this, peer, Errc::canceled);
    });
    host_.disarm(halves_timer_);
    put_off_.complete_all(host_);
}

TcpPort::~TcpPort() {
    close();
    peers_.remove_all();
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
    if (connection.hot || wide_rounds_ > 0 || !host_.spins()) return;
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
    if (!halves_timer_.armed()) host_.arm(halves_timer_, lane.rest_due());
}

void TcpPort::half_done(MessageLane& lane) noexcept {
    if (!Halves::linked(lane)) return;
    halves_.remove(lane);
    --halves_count_;
}

void TcpPort::look_at_halves() noexcept {
    const TimeUs now = host_.now_us();
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
    host_.disarm(halves_timer_);
    if (next != time_never) host_.arm(halves_timer_, next);
    (void)settle();
}

std::size_t TcpPort::bulk_slice() const noexcept {
    return host_.now_us() - small_at_ < small_traffic_us ? bulk_slice_small : bulk_slice_large;
}

unsigned TcpPort::poll() noexcept {
    unsigned did = 0;
    if (!inbox_.seems_empty()) {
        for (Handover& handover : inbox_.take_all()) came_in(std::move(handover)), ++did;
    }
    did += look_at_hot();
    if (host_.spins() && !blocked_.empty()) {
        Connections again;
        again.splice_back(blocked_);
        while (Connection* connection = again.pop_front()) {
            connection->blocked = false;
            connection->transmit();
            did += connection->blocked ? 0 : 1;
        }
    }
    did += settle();
    if (peers_.spares_changed()) peers_.forget_spares();
    return did;
}

void TcpPort::flush() noexcept {
    Connections now;
    now.splice_back(dirty_);
    while (Connection* connection = now.pop_front()) connection->transmit();
    (void)settle();
}

bool TcpPort::prepare_wait() noexcept {
    if (!dirty_.empty() || !put_off_.empty() || !inbox_.empty()) return false;
    for (Connection* connection = blocked_.front(); connection; connection = Connections::next(*connection)) {
        connection->watch_room(true);
    }
    return true;
}

unsigned TcpPort::settle() noexcept {
    return put_off_.settle(host_, [this](TcpPeer& peer, Errc why) { session_over(peer, why); });
}

}  // namespace cinnabar::tcp
