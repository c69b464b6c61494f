// SPDX-License-Identifier: BSD-3-Clause
// SealedSession: how it begins and ends, and the handshake.
#include "sealed/session.hpp"

#include "sealed/port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <string>
#include <utility>

namespace cinnabar::tls {
namespace {

// After the handshake, the accepting side may still send an alert that says why it refuses this side, or a ticket. The
// ticket contains this side's certificate, of at most 32 KiB.
constexpr std::uint32_t late_records_max = 72;

}  // namespace

SealedSession::SealedSession() noexcept {
    timer_.owner = this;
    timer_.fire = &SealedSession::time_out;
}

void SealedSession::start(SealedPort& port, na::Peer& below, const na::Peer& named) noexcept {
    CINNABAR_ASSERT(stage_ == Stage::free);
    port_ = &port;
    below_ = &below;
    below.acquire();
    peer_ = nullptr;
    pending_ = nullptr;
    link_ = {};
    stage_ = Stage::shaking;
    late_records_ = 0;
    dial_number_ = 0;
    opened_ = 0;
    outlet_.begin();
    blocked = false;
    wire_.begin(&named);
}

void SealedSession::dial(SealedPort& port, SealedPeer& peer) noexcept {
    start(port, *peer.below(), peer);
    dialled_ = true;
    peer_ = &peer;
    peer.session = this;
    peer.link.session = this;
    below_->upper = &peer.link;
    port.host().arm(timer_, after(steady_clock().now_us(), port.options().connect_timeout));
    guard_ = port.transport().guards()->over(wire_, &peer.addr());
    if (!guard_) return fail(Errc::out_of_memory);
    shake({});
}

void SealedSession::accept(SealedPort& port, na::Peer& below, PendingProof& pending) noexcept {
    start(port, below, below);
    dialled_ = false;
    pending_ = &pending;
    link_.session = this;
    below.upper = &link_;
    port.host().arm(timer_, after(steady_clock().now_us(), port.options().hello_timeout));
}

void SealedSession::begin(SealedPeer& peer) noexcept {
    CINNABAR_ASSERT(stage_ == Stage::greeting);
    port_->host().disarm(timer_);
    if (pending_) port_->pending().leave(*std::exchange(pending_, nullptr));
    peer_ = &peer;
    peer.session = this;
    stage_ = Stage::open;
    access_.begin(peer);
    port_->withdrawn_credentials().began(*this);
}

bool SealedSession::live() const noexcept {
    const bool under_way = stage_ == Stage::shaking || stage_ == Stage::greeting || stage_ == Stage::open;
    return under_way && !(peer_ && peer_->ending());
}

// Ending.

void SealedSession::fail(Errc why) noexcept {
    if (stage_ == Stage::free || stage_ == Stage::draining || port_->closed()) return;
    if (peer_) {
        port_->end_session(*peer_, why, guard_ ? guard_->failed_because() : nullptr);
    } else {
        leave();
    }
}

void SealedSession::leave() noexcept {
    CINNABAR_ASSERT(!peer_);
    if (!live()) return;
    stage_ = Stage::leaving;
    if (outlet_.idle() && wire_.unsent().empty()) {
        port_->end_soon(*this);
    } else {
        port_->output().add(*this);
    }
}

void SealedSession::end(Errc why) noexcept {
    if (stage_ == Stage::free || stage_ == Stage::draining) return;
    port_->host().disarm(timer_);
    // Tells the other side why this side refuses it.
    const bool can_tell = dialled_ && stage_ != Stage::open && below_->state() == na::PeerState::connected;
    if (can_tell && !wire_.unsent().empty() && send_handshake()) port_->below().flush();
    access_.end(why);
    port_->forget(*this);
    outlet_.set_guard(nullptr);
    seal_.reset();
    guard_.reset();
    wire_.end();
    if (pending_) port_->pending().leave(*std::exchange(pending_, nullptr));
    na::Peer& below = *std::exchange(below_, nullptr);
    if (below.upper == &link_) below.upper = nullptr;
    link_.session = nullptr;
    port_->below().disconnect(below);
    if (SealedPeer* const peer = std::exchange(peer_, nullptr)) {
        peer->session = nullptr;
        peer->link.session = nullptr;
        peer->link.closing = peer->below() && below.state() != na::PeerState::idle;
    }
    below.release();
    stage_ = Stage::draining;
    if (outlet_.idle()) free_slot();
}

void SealedSession::free_slot() noexcept {
    stage_ = Stage::free;
    port_->sessions().release(*this);
}

void SealedSession::abandon() noexcept {
    if (stage_ == Stage::free) return;
    CINNABAR_ASSERT(outlet_.idle());
    port_->host().disarm(timer_);
    access_.end(Errc::canceled);
    port_->forget(*this);
    outlet_.set_guard(nullptr);
    seal_.reset();
    guard_.reset();
    wire_.end();
    if (pending_) port_->pending().leave(*std::exchange(pending_, nullptr));
    if (SealedPeer* const peer = std::exchange(peer_, nullptr)) {
        peer->session = nullptr;
        peer->link = {.dialled = peer->link.dialled};
    }
    if (na::Peer* const below = std::exchange(below_, nullptr)) {
        below->upper = nullptr;
        below->release();
    }
    link_ = {};
    free_slot();
}

void SealedSession::returned(bool data, Errc result) noexcept {
    outlet_.returned(data);
    if (stage_ == Stage::draining) {
        if (outlet_.idle()) free_slot();
        return;
    }
    if (result != Errc::ok) fail(result);
    if (stage_ == Stage::leaving) {
        if (outlet_.idle() && wire_.unsent().empty()) port_->end_soon(*this);
    } else if (live() && has_output()) {
        port_->output().add(*this);
    }
}

void SealedSession::tell_of_silence() const noexcept {
    static constinit LogLimit lines;
    const std::string_view scheme = port_->transport().scheme();
    const std::string peer = peer_->addr().log_name();
    log_limited(lines, LogLevel::info, LogModule::named(scheme),
                {peer_field(peer), transport_field(scheme), error_field(Errc::timed_out)},
                "%s is connected, but does not finish the handshake: perhaps it listens without TLS", peer.c_str());
}

void SealedSession::time_out(WheelTimer& timer) noexcept {
    SealedSession& self = TimerOf<SealedSession>::owner_of(timer);
    SealedPort& port = *self.port_;
    if (!self.peer_) {
        port.end_soon(self);
    } else {
        if (self.below_->state() == na::PeerState::connected) self.tell_of_silence();
        self.fail(Errc::timed_out);
    }
    (void)port.tidy();
}

// The handshake.

void SealedSession::shake(ConstBytes bytes) noexcept {
    if (!guard_) guard_ = port_->transport().guards()->over(wire_, nullptr);
    if (!guard_) return fail(Errc::out_of_memory);
    wire_.feed(bytes);
    std::uint32_t events = 0;  // for a socket; here there is none
    Errc came = guard_->establish(events);
    while (came == Errc::again && wire_.unread() > 0) {
        const std::size_t before = wire_.unread();
        came = guard_->establish(events);
        if (wire_.unread() == before) break;
    }
    // No bytes may follow the handshake in its last message.
    if (wire_.unread() > 0 && (came == Errc::ok || came == Errc::again)) came = Errc::protocol;
    wire_.feed({});
    if (!wire_.unsent().empty()) port_->output().add(*this);
    if (came == Errc::ok) return proven();
    if (came != Errc::again) fail(came);
}

void SealedSession::after_handshake(ConstBytes bytes) noexcept {
    if (!dialled_ || ++late_records_ > late_records_max) return fail(Errc::protocol);
    // TLS no longer counts its bytes, so the size of each message counts, too.
    if (bytes.size() > handshake_piece_bytes) return fail(Errc::protocol);
    wire_.feed(bytes);
    std::byte nothing{};
    const iovec piece{&nothing, 1};
    const na::Moved moved = guard_->receive(&piece, 1);
    const bool left = wire_.unread() > 0;
    wire_.feed({});
    if (moved.why == Errc::ok || (moved.why == Errc::again && left)) return fail(Errc::protocol);
    if (moved.why != Errc::again) fail(moved.why);
}

void SealedSession::proven() noexcept {
    seal_ = guard_->message_guard();
    if (!seal_) return fail(Errc::out_of_memory);
    outlet_.set_guard(seal_.get());
    stage_ = Stage::greeting;
    if (!dialled_) return;
    dial_number_ = port_->transport().number_of_dial(peer_->addr());
    const bool greeted = greet(na::HelloKind::dial, port_->hello(na::HelloKind::dial, peer_->wanted()), dial_number_);
    if (!greeted) fail(Errc::overloaded);
}

}  // namespace cinnabar::tls
