// SPDX-License-Identifier: BSD-3-Clause
// Begins and ends a session, seals and opens frames and chunks, passes received frames to the origin and the owner of
// transfers, and decides what is sent first.
#include "session.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/epoll.h>

#include <array>

namespace cinnabar::ofi {
namespace {

// How long a provider may take to return the buffers of an ended session.
constexpr TimeUs drain_us = 2'000'000;

std::array<std::byte, 24> head_of(const ChunkId& id) noexcept {
    std::array<std::byte, 24> head;
    ByteWriter writer(head);
    writer.u64(id.of_put ? 1 : 0);
    writer.u64(id.id);
    writer.u64(id.tag);
    return head;
}

}  // namespace

Session::Session() noexcept { timer_.bind<&Session::time_out>(*this); }

void Session::reserve(OfiPort& port) noexcept {
    CINNABAR_ASSERT(!peer_ && with_fabric_ == 0);
    port_ = &port;
    check_ = secret_u64();
    open_ = false;
    draining_ = false;
    blocked = false;
    partial_record_ = 0;
    seals_ = port.transport().guards() != nullptr;
    sender_.reset();
}

void Session::end_reserved() noexcept {
    CINNABAR_ASSERT(!peer_);
    port_->sessions().release(*this);
}

Errc Session::start(OfiPeer& peer, na::Stream stream, const Greeting& theirs, bool dialled) noexcept {
    CINNABAR_ASSERT(!peer_);
    peer_ = &peer;
    hello_ = theirs.hello;
    sender_.set_receiver(theirs.session);
    dialled_ = dialled;
    stream_ = std::move(stream);
    na::tune(stream_.fd(), port_->options().keepalive);
    port_->connecting(1);
    port_->host().arm(timer_, after(steady_clock().now_us(), port_->options().connect_timeout));
    if (!port_->host().watch(stream_.fd(), EPOLLIN | EPOLLRDHUP, *this)) {
        stream_.reset();
        return Errc::overloaded;
    }
    if (stream_.guard()) {
        port_->withdrawn_credentials().began(*this);
        seal_ = stream_.guard()->message_guard();
        if (!seal_) return Errc::out_of_memory;
    }
    const Errc why = port_->endpoint().insert({theirs.address.data(), theirs.address_bytes}, address_);
    if (why == Errc::ok && dialled) sender_.queue_control(Frame{FrameKind::probe}, {});
    return why;
}

void Session::close_socket() noexcept {
    port_->withdrawn_credentials().remove(*this);
    if (stream_) port_->host().unwatch(stream_.fd());
    seal_.reset();
    if (stream_.guard()) stream_.guard()->end();
    stream_.reset();
}

void Session::end(Errc why) noexcept {
    CINNABAR_ASSERT(peer_);
    port_->output().remove(*this);
    port_->host().disarm(timer_);
    if (!open_) port_->connecting(-1);
    close_socket();
    draining_ = true;
    sender_.end(why);
    owner_.end();
    origin_.end(why);
    peer_ = nullptr;
    taken();  // with given_back() below: releases the session now if the fabric has nothing of it
    port_->host().arm(timer_, port_->host().now_us() + drain_us);
    given_back();
}

bool Session::live() const noexcept { return peer_ && !peer_->ending(); }

void Session::forfeit(Errc why) noexcept {
    static constinit LogLimit lines;
    const na::Addr& peer = peer_->addr();
    const char* const does = why == Errc::timed_out ? "has long been silent, and others wait for what it holds"
                                                    : "holds the most of a shared pool that is used up";
    log_limited(lines, LogLevel::info, "ofi", {peer_field(peer), transport_field("ofi"), error_field(why)},
                "%s %s: its session ends: %s", peer.log_name().c_str(), does, std::string(to_string(why)).c_str());
    fail(why);
    sender_.drop_controls();
    owner_.end();
}

void Session::given_back() noexcept {
    CINNABAR_ASSERT(with_fabric_ > 0);
    if (--with_fabric_ > 0 || !draining_) return;
    CINNABAR_ASSERT(origin_.empty());
    draining_ = false;
    port_->host().disarm(timer_);
    if (address_ != FI_ADDR_UNSPEC) port_->endpoint().remove(std::exchange(address_, FI_ADDR_UNSPEC));
    port_->sessions().release(*this);
}

void Session::abandon() noexcept {
    if (!port_) return;
    port_->host().disarm(timer_);
    close_socket();
    const bool in_use = peer_ || draining_;
    peer_ = nullptr;
    port_->output().remove(*this);
    sender_.abandon();
    owner_.end();
    chunks_.abandon_strays();
    origin_.abandon();
    with_fabric_ = 0;
    draining_ = false;
    open_ = false;
    if (in_use) port_->sessions().release(*this);
}

void Session::on_ready(std::uint32_t) noexcept {
    if (!peer_) return;
    std::byte nothing{};
    const na::Moved moved = stream_.receive(&nothing, 1);
    // No bytes may follow the greetings on the socket, but for those of TLS itself.
    if (moved.why != Errc::again) {
        fail(moved.why == Errc::ok ? Errc::protocol : moved.why);
    } else if (stream_.guard()) {
        watch_partial_record();
    }
    (void)port_->settle();
}

bool Session::seal_frame(std::byte* frame, std::size_t bytes) noexcept {
    std::byte* const body = frame + frame_header_bytes;
    return seal_ && seal_->seal(na::MessageGuard::Kind::frame, {frame, frame_header_bytes},
                                {body, bytes - frame_header_bytes}, body);
}

ConstBytes Session::open_frame(Bytes frame) noexcept {
    const Bytes header = frame.first(frame_header_bytes);
    const bool opened = seal_ && seal_->open(na::MessageGuard::Kind::frame, header, frame.subspan(header.size()));
    if (opened) return frame.first(frame.size() - na::MessageGuard::trailer_bytes);
    fail(Errc::protocol);
    return {};
}

bool Session::seal_chunk(const ChunkId& id, Staging& chunk, std::size_t bytes) noexcept {
    const auto head = head_of(id);
    return seal_ && seal_->seal(na::MessageGuard::Kind::chunk, head, {chunk.bytes.get(), bytes}, chunk.bytes.get());
}

bool Session::open_chunk(const ChunkId& id, Staging& chunk, std::size_t bytes) noexcept {
    const auto head = head_of(id);
    const Bytes sealed{chunk.bytes.get(), bytes + na::MessageGuard::trailer_bytes};
    if (seal_ && seal_->open(na::MessageGuard::Kind::chunk, head, sealed)) return true;
    fail(Errc::protocol);
    return false;
}

// The rest of a partial record must arrive soon, because OpenSSL holds memory for it.
void Session::watch_partial_record() noexcept {
    const std::uint64_t partial = stream_.guard()->partial_record();
    if (!open_ || partial == partial_record_) return;
    partial_record_ = partial;
    port_->host().disarm(timer_);
    if (partial != 0) port_->host().arm(timer_, after(port_->host().now_us(), port_->options().hello_timeout));
}

void Session::fail(Errc why) noexcept {
    if (peer_) port_->end_session(*peer_, why);
}

// Returns the code with which the session is to end. Codes that mean "connection gone" become peer_lost; before the
// session is open, the codes of a failed dial are kept. Any other code is logged with the provider's text.
Errc Session::reason(const Done& done) const noexcept {
    switch (done.result) {
        case Errc::ok:
            return Errc::ok;
        case Errc::refused:
        case Errc::unreachable:
        case Errc::timed_out:
            return open_ ? Errc::peer_lost : done.result;
        case Errc::canceled:
        case Errc::peer_lost:
            return Errc::peer_lost;
        default:
            break;
    }
    if (live()) {
        static constinit LogLimit lines;
        const na::Addr& peer = peer_->addr();
        log_limited(lines, LogLevel::warning, "ofi",
                    {peer_field(peer), transport_field("ofi"), error_field(done.result)},
                    "%s failed to send to or receive from %s: %s (%s)", port_->provider().name, peer.log_name().c_str(),
                    std::string(to_string(done.result)).c_str(), done.words ? done.words : "");
    }
    return done.result;
}

void Session::time_out() noexcept {
    OfiPort& port = *port_;
    if (draining_) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::info, "ofi", "%s has not given back %u operations of an ended session",
                    port.provider().name, with_fabric_);
        origin_.force_end();
        origin_.leave_copies();
        chunks_.leave_strays();
    } else if (!open_) {
        static constinit LogLimit lines;
        const na::Addr& peer = peer_->addr();
        log_limited(lines, LogLevel::warning, "ofi",
                    {peer_field(peer), transport_field("ofi"), error_field(Errc::unreachable)},
                    "the sockets are connected, but %s transfers nothing to %s: check its fabric address",
                    port.provider().name, peer.log_name().c_str());
        fail(Errc::unreachable);
    } else if (partial_record_ != 0) {
        fail(Errc::timed_out);
    }
    (void)port.settle();
}

// Handles a probe, or the answer to a probe. Only the side that dialled sends a probe, and only the other side answers
// it. If a side accepted an answer without having sent a probe, that side would open a session although its frames may
// not reach the peer's fabric address.
void Session::probed(const Frame& frame) noexcept {
    if ((frame.kind == FrameKind::answer) != dialled_) return fail(Errc::protocol);
    if (!dialled_) sender_.queue_control(Frame{FrameKind::answer}, {});
    if (open_) return;
    open_ = true;
    port_->connecting(-1);
    port_->host().disarm(timer_);
    if (stream_.guard()) watch_partial_record();
    port_->session_open(*this, hello_);
}

void Session::receive(const Frame& frame, const TransferBody& body, ConstBytes payload, na::Arrival& arrival) noexcept {
    if (peer_->ending()) return;
    if (frame.kind == FrameKind::probe || frame.kind == FrameKind::answer) return probed(frame);
    if (!open_) return fail(Errc::protocol);
    switch (frame.kind) {
        case FrameKind::unexpected:
            return port_->host().receiver().on_unexpected(arrival);
        case FrameKind::expected:
            return port_->host().receiver().on_expected(arrival);
        case FrameKind::get:
            return owner_.get(frame, body);
        case FrameKind::put:
            return owner_.put(frame, body, payload);
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
            return owner_.atomic(frame, body);
        case FrameKind::stop:
            return owner_.stop(frame, body);
        case FrameKind::get_data:
            return origin_.get_data(frame, payload);
        case FrameKind::get_ended:
            return origin_.get_ended(frame, body);
        case FrameKind::put_go:
            return origin_.put_go(frame, body);
        case FrameKind::put_done:
            return origin_.put_done(frame);
        case FrameKind::atomic_done:
            return origin_.atomic_done(frame, body);
        case FrameKind::probe:
        case FrameKind::answer:
            return;
    }
}

// Sends until the provider has no room: control frames first, then messages, then transfers.
void Session::transmit() noexcept {
    if (!live()) return;
    Sent sent = sender_.send_controls();
    if (open_ && sent == Sent::all) sent = sender_.send_messages();
    if (live()) peer_->delayed = !peer_->messages.empty();
    if (open_ && sent == Sent::all) sent = owner_.serve();
    if (open_ && sent == Sent::all) sent = origin_.post_transfers();
    // Control frames that the transfers have queued.
    if (sent == Sent::all) sent = sender_.send_controls();
    if (sent == Sent::blocked && live()) port_->output().block(*this);
}

void Session::go_on() noexcept {
    if (peer_ && (owner_.has_work() || origin_.has_work())) port_->output().add(*this);
}

}  // namespace cinnabar::ofi
