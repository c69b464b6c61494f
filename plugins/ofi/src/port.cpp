// SPDX-License-Identifier: BSD-3-Clause
// OfiPort: posting and progress. Polls the provider's completions, and lets sessions send.
#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <sys/epoll.h>

#include <algorithm>

namespace cinnabar::ofi {
namespace {

constexpr unsigned completions_max = 256;   // per round
constexpr unsigned blocked_tries_max = 64;  // per round
// The time between two polls of a provider that makes connections, and sends what it had no room for before, only while
// it is polled (wants_asking()).
constexpr TimeUs tick_us = 500;
// For providers without a descriptor: a context polls continuously for watchful_us after the last completion, then once
// every pause_us.
constexpr TimeUs watchful_us = 20'000;
constexpr TimeUs pause_us = 1000;

std::size_t largest_frame(const OfiTransport& transport) noexcept {
    return frame_header_bytes + transfer_body_bytes +
           padded(std::max<std::size_t>(transport.options().message_bytes_max, small_bytes_max)) +
           transport.trailer_bytes();
}

}  // namespace

QueueWatch::QueueWatch(OfiPort& port) noexcept : port_(port), watch_(port.host(), *this, &QueueWatch::ready) {}

bool QueueWatch::start(int fd) noexcept { return fd < 0 || watch_.start(fd, EPOLLIN); }

// Polls the endpoint when its descriptor is readable. Some providers leave their descriptor readable although there is
// nothing to do. Such a descriptor is then watched edge-triggered, so that the context can sleep.
void QueueWatch::ready() noexcept {
    constexpr TimeUs patience_us = 5000;
    const TimeUs now = port_.host().now_us();
    if (port_.poll_endpoint() > 0) {
        fruitless_since_ = 0;
    } else if (fruitless_since_ == 0) {
        fruitless_since_ = now;
    } else if (!by_edges_ && now - fruitless_since_ > patience_us) {
        by_edges_ = true;
        (void)watch_.change(EPOLLIN | EPOLLET);
    }
    (void)port_.settle();
}

OfiPort::OfiPort(OfiTransport& transport, na::PortHost& host, std::unique_ptr<Endpoint> endpoint)
    : SocketPort(*this, transport, transport.options(), host, largest_frame(transport)),
      transport_(transport),
      endpoint_(std::move(endpoint)),
      messages_(host.threads(), options().send_slots_max, options().message_bytes_max, frame_header_bytes, 0, false),
      pools_(*this),
      receives_(*this, largest_frame(transport)),
      sessions_(ThreadUse::one, options().connections_max),
      dials_(ThreadUse::one, options().connections_max),
      watch_(*this),
      withdrawn_credentials_(*this),
      send_room_(endpoint_->sends_max()) {
    tick_.owner = this;
    tick_.fire = [](WheelTimer&) noexcept {};  // it only has to wake the context
}

Result<void> OfiPort::open() {
    if (const Errc why = receives_.open(*endpoint_); why != Errc::ok) {
        return Error(why, "the provider takes no receives", transport_.diagnosis());
    }
    if (!watch_.start(endpoint_->wait_fd()) || !handshakes_.watch(transport_.listener())) {
        return Error(errc_from_errno(errno), "watching a descriptor of the fabric", {}, errno);
    }
    return {};
}

void OfiPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    handshakes_.close();
    watch_.stop();
    host().disarm(tick_);
}

void OfiPort::end_connections() noexcept {
    // Afterwards the fabric uses no posted memory, and no `done` is called.
    endpoint_->close();
    peers_.each([this](na::SessionPeer& each) {
        auto& peer = static_cast<OfiPeer&>(each);
        if (peer.dial) peer.dial->purpose()->end_reserved();
        drop_dial(dials_, peer.dial);
        peer.session = nullptr;
    });
    sessions_.for_each([](Session& session) { session.abandon(); });
    receives_.close();
    pools_.close();
}

void OfiPort::release_all() noexcept {
    messages_.unregister();
    pools_.controls.unregister();
    pools_.sealed.unregister();
    endpoint_.reset();
}

Errc OfiPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<OfiPeer&>(*op.peer);
    Posted& posted = na::make_posted<Posted>(op);
    if (!na::is_message(op.kind) && op.remote.key.size() != na::LeaseKey::wire_bytes) {
        end(posted, Errc::invalid_argument);
    } else if (enqueue(peer, posted) && peer.session_state() == na::SessionState::open) {
        output_.add(*peer.session);
    }
    return Errc::ok;
}

bool OfiPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<OfiPeer&>(to);
    if (peer.session_state() != na::SessionState::open || !peer.messages.empty() || peer.session->blocked) return false;
    const FrameKind frame = kind == na::OpKind::send_unexpected ? FrameKind::unexpected : FrameKind::expected;
    return peer.session->sender().send_now(frame, tag, message);
}

void OfiPort::cancel_begun(na::SessionPeer&, na::PostedOp& posted) noexcept {
    // The fabric cannot cancel a message: it completes normally.
    if (posted.stage == na::OpStage::sending) return;
    auto& own = static_cast<Posted&>(posted);
    own.transfer->session->cancel(own);
}

// The session that a frame names; null: the session has ended or never existed, and the sender is unknown.
Session* OfiPort::session_of(ConstBytes frame) noexcept {
    const SessionName name = receiver_of(frame);
    Session* const session = sessions_.at(name.index);
    if (session && session->is(name)) return session;
    transport_.count_stray();
    return nullptr;
}

// Handles a malformed frame. A sealed frame certainly comes from the peer, so its session ends. An unsealed frame is
// dropped, because it may come from somebody who has seen the session's name on the network, and who must not be able
// to end the session.
void OfiPort::malformed(Session& session) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::info, "ofi", "malformed frame: %s", session.seals() ? "its session ends" : "dropped");
    if (session.seals()) session.fail(Errc::protocol);
}

void OfiPort::frame_lost(ConstBytes bytes) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "ofi", "out of memory for a frame: its session ends");
    if (Session* const session = session_of(bytes)) session->fail(Errc::out_of_memory);
}

void OfiPort::frame_came(Bytes bytes, na::ReceiveBlock& block, fi_addr_t source) noexcept {
    Session* const session = session_of(bytes);
    if (!session) return;
    // A sealed frame is opened before anything but the name of its session is read.
    const ConstBytes opened = session->seals() ? session->open_frame(bytes) : ConstBytes(bytes);
    if (opened.empty()) return;
    Frame frame;
    TransferBody body;
    ConstBytes payload;
    if (decode(opened, options().message_bytes_max, frame, body, payload) != Errc::ok) return malformed(*session);
    // The greeting may contain any address, so nothing is sent there until a message has arrived from it.
    if (frame.kind == FrameKind::probe && endpoint_->tells_source() && source != session->fabric_address()) {
        static constinit LogLimit lines;
        return log_limited(lines, LogLevel::info, "ofi",
                           "dropped a probe whose source is not the address of its session");
    }
    na::Arrival arrival{payload, &session->peer(), frame.id, this, &block, 0};
    session->receive(frame, body, payload, arrival);
}

unsigned OfiPort::poll_endpoint() noexcept {
    const unsigned did = endpoint_->poll(completions_max);
    if (did > 0) {
        idle_rounds_ = 0;
        active_at_ = host().now_us();
    } else if (idle_rounds_ < hot_rounds) {
        ++idle_rounds_;
    }
    return did;
}

unsigned OfiPort::poll() noexcept {
    unsigned did = take_inbox();
    did += poll_endpoint();
    if (!receives_.complete()) (void)receives_.repost();
    (void)output_.transmit_blocked(blocked_tries_max);
    output_.transmit();
    did += settle();
    peers_.forget_spares();
    if (transport_.fences().pending()) {
        did += transport_.fences().check(host().now_us(), [this](WorkItem& fenced) noexcept { host().submit(fenced); });
    }
    keep_awake();
    return did;
}

// Whether the provider must be polled even though nothing is readable.
bool OfiPort::wants_asking() const noexcept {
    return !output_.blocked().empty() || connecting_ > 0 || !receives_.complete() || transport_.fences().pending();
}

// Sets a timer so that the context sleeps only briefly while the provider must be polled.
void OfiPort::keep_awake() noexcept {
    if (tick_.armed()) return;
    if (wants_asking()) {
        host().arm(tick_, host().now_us() + tick_us);
    } else if (endpoint_->wait_fd() < 0 && sessions_.taken() > 0) {
        host().arm(tick_, host().now_us() + pause_us);
    }
}

void OfiPort::flush() noexcept {
    output_.transmit();
    (void)settle();
}

bool OfiPort::prepare_wait() noexcept {
    if (!output_.empty() || has_deferred_work()) return false;
    // Something changed since the last poll: a flush of another thread may have found no room.
    if (wants_asking() && !tick_.armed()) return false;
    if (endpoint_->wait_fd() >= 0) return endpoint_->may_sleep();
    return sessions_.taken() == 0 || host().now_us() - active_at_ >= watchful_us;
}

}  // namespace cinnabar::ofi
