// SPDX-License-Identifier: BSD-3-Clause
// Posts, and progress: completions, what waits to be sent, ends, and signs of life.
#include "port.hpp"

#include "process_ports.hpp"

#include <cinnabar/base/log.hpp>

#include <fcntl.h>

#include <algorithm>

namespace cinnabar::verbs {
namespace {

// Work requests of all connections of a port together, for which its completion queue has room.
constexpr std::uint32_t in_queue_wanted = 8192;
// Connections that are being made or are draining, beside those that may be open.
constexpr std::uint32_t connections_extra = 1024;
// How often connections that drain are looked at.
constexpr TimeUs drain_look_us = 100'000;

std::size_t slot_bytes(const na::TransportOptions& options) noexcept {
    constexpr std::size_t line = 64;
    return (message_header_bytes + options.message_bytes_max + line - 1) / line * line;
}

}  // namespace

VerbsPort::VerbsPort(VerbsTransport& transport, na::PortHost& host)
    : SessionPort(transport, transport.options(), host),
      transport_(transport),
      messages_(transport.device(), host.threads(), transport.options().send_slots_max,
                transport.options().message_bytes_max),
      slots_(transport.device(), slot_bytes(transport.options()), transport.posted_max(),
             transport.options().receive_slots),
      cells_(transport.device()),
      completions_(host),
      cm_watch_(*this, &VerbsPort::cm_ready),
      listener_watch_(*this, &VerbsPort::listener_ready),
      device_watch_(*this, &VerbsPort::device_ready),
      connections_(Threads::one, transport.limits().connections_max + connections_extra) {
    pulse_.owner = this;
    pulse_.fire = [](Timer& timer) noexcept { TimerOf<VerbsPort>::owner_of(timer).beat(); };
}

Result<void> VerbsPort::open() {
    const std::uint32_t receives = transport_.posted_max();
    const auto entries_max = static_cast<std::uint32_t>(std::max(device().limits().max_cqe, 1));
    const std::uint32_t entries = std::min(entries_max, receives + in_queue_wanted);
    room_.open(entries - receives);
    CINNABAR_TRY_VOID(slots_.open());
    CINNABAR_TRY_VOID(cells_.open());
    CINNABAR_TRY_VOID(completions_.open(device(), entries, this));
    CINNABAR_TRY(channel_, make_event_channel());
    const int device_fd = device().context()->async_fd;
    (void)::fcntl(device_fd, F_SETFL, ::fcntl(device_fd, F_GETFL) | O_NONBLOCK);
    const int listener = transport_.listener_fd();
    const bool watched = cm_watch_.start(channel_->fd, EPOLLIN) &&
                         device_watch_.start(device_fd, EPOLLIN | EPOLLEXCLUSIVE) &&
                         (listener < 0 || listener_watch_.start(listener, EPOLLIN | EPOLLEXCLUSIVE));
    if (!watched) return Error(errc_from_errno(errno), "watching the connection manager", {}, errno);
    ProcessPorts::get().add(*this);
    return {};
}

void VerbsPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    ProcessPorts::get().remove(*this);
    listener_watch_.stop();
    device_watch_.stop();
    cm_watch_.stop();
    host().disarm(pulse_);
    inbox_.take_all().clear();
}

void VerbsPort::end_connections() noexcept {
    while (!dirty_.empty()) (void)dirty_.pop_front();
    while (!draining_.empty()) (void)draining_.pop_front();
    room_.forget_all();
    connections_.for_each([this](Connection& connection) {
        if (connection.stage() == Stage::closed) return;
        connection.close(Errc::canceled);
        connections_.release(connection);
    });
}

void VerbsPort::release_all() noexcept {
    completions_.close();
    slots_.close();
    channel_.reset();
}

Errc VerbsPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<VerbsPeer&>(*op.peer);
    RemotePlace remote;
    Errc wrong = Errc::ok;
    if (!na::is_message(op.kind)) {
        const std::uint64_t bytes = na::is_atomic(op.kind) ? sizeof(std::uint64_t) : op.bytes;
        wrong = find_place(op.remote.key, op.remote_offset, bytes, remote);
        if (wrong == Errc::invalid_argument) return wrong;
    }
    Posted& posted = na::make_posted<Posted>(op);
    posted.remote = remote;
    if (wrong != Errc::ok) {
        end(posted, wrong);
    } else if (enqueue(peer, posted) && peer.connection) {
        dirty(*peer.connection);
    }
    return Errc::ok;
}

std::uint32_t VerbsPort::window_for_next() const noexcept {
    const std::uint32_t left = options().receive_slots - std::min(options().receive_slots, slots_.promised());
    return std::clamp(left / 4, window_min, window_max);
}

void VerbsPort::remove_queue_pair(Connection& connection) noexcept {
    by_queue_pair_.erase(connection.queue_pair());
    completions_.forget(connection.queue_pair());
}

void VerbsPort::dirty(Connection& connection) noexcept {
    if (!Connections::linked(connection)) dirty_.push_back(connection);
}

void VerbsPort::left_queue() noexcept {
    room_.give([this](Connection& connection) { dirty(connection); });
}

unsigned VerbsPort::poll() noexcept {
    unsigned did = poll_completions();
    if (!inbox_.seems_empty()) did += take_inbox();
    if (!draining_.empty()) did += look_at_draining();
    if (broken_.load(std::memory_order_relaxed)) did += look_at_broken();
    did += settle();
    peers_.forget_spares();
    return did;
}

void VerbsPort::flush() noexcept {
    if (closed()) return;
    if (!slots_.refill()) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::error, "verbs: the device takes no more receive slots");
    }
    if (dirty_.empty() && !anything_deferred()) return;
    Connections now;
    now.splice_back(dirty_);
    while (Connection* connection = now.pop_front()) connection->transmit();
    (void)settle();
}

bool VerbsPort::prepare_wait() noexcept {
    if (!dirty_.empty() || anything_deferred() || !inbox_.empty() || broken_.load(std::memory_order_seq_cst))
        return false;
    return completions_.arm();
}

unsigned VerbsPort::look_at_draining() noexcept {
    unsigned did = 0;
    const TimeUs now = host().now_us();
    for (Connection* connection = draining_.front(); connection;) {
        Connection& each = *std::exchange(connection, Connections::next(*connection));
        each.give_slots_back();
        if (!each.idle() && now < each.drained_by) continue;
        draining_.remove(each);
        discard(each, Errc::peer_lost);
        ++did;
    }
    return did;
}

void VerbsPort::broke() noexcept {
    broken_.store(true, std::memory_order_seq_cst);
    host().wake();
}

void VerbsPort::fail(Errc why) noexcept {
    Errc none = Errc::ok;
    if (failed_.compare_exchange_strong(none, why)) broke();
}

bool VerbsPort::is_hit_by(const ibv_async_event& event, const ibv_context& device) const noexcept {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR:
            return event.element.cq == completions();
        case IBV_EVENT_SRQ_ERR:
            return event.element.srq == slots_.queue();
        default:
            return this->device().context() == &device;
    }
}

unsigned VerbsPort::look_at_broken() noexcept {
    // What was written before it was set is seen from here on; what is set from here on is for the next look.
    if (!broken_.exchange(false, std::memory_order_acq_rel)) return 0;
    unsigned did = 0;
    peers_.each([this, &did](na::SessionPeer& each) {
        auto& peer = static_cast<VerbsPeer&>(each);
        Errc why = peer.connection ? peer.connection->broken.exchange(Errc::ok) : Errc::ok;
        if (failed() != Errc::ok && (peer.connection || peer.dial)) why = failed();
        if (why == Errc::ok) return;
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::debug, "verbs: the device gave a session up");
        end_session(peer, why);
        ++did;
    });
    return did;
}

void VerbsPort::arm_pulse() noexcept {
    if (pulse_.armed() || closed()) return;
    const TimeUs keepalive = static_cast<TimeUs>(options().keepalive.count());
    if (!draining_.empty()) return host().arm(pulse_, host().now_us() + drain_look_us);
    if (sessions_ > 0 && keepalive > 0) host().arm(pulse_, host().now_us() + std::max<TimeUs>(keepalive / 4, 1));
}

// Whoever was silent for a while is asked for a sign of life.
void VerbsPort::beat() noexcept {
    (void)look_at_draining();
    const TimeUs keepalive = static_cast<TimeUs>(options().keepalive.count());
    const TimeUs now = host().now_us();
    // First what the device told of while nobody asked, as happens to a process that was stopped.
    const std::uint64_t emptied = times_emptied_;
    (void)poll_completions();
    if (keepalive > 0 && times_emptied_ != emptied) {
        peers_.each([this, keepalive, now](na::SessionPeer& each) {
            auto& peer = static_cast<VerbsPeer&>(each);
            if (!peer.connection || peer.ending()) return;
            if (!peer.connection->probe(now - std::min(now, keepalive / 4), keepalive / 2)) {
                static constinit LogLimit lines;
                log_limited(lines, LogLevel::debug, "verbs: no sign of life, and so no session any more");
                end_session(peer, Errc::peer_lost);
            }
        });
    }
    arm_pulse();
    (void)settle();
}

}  // namespace cinnabar::verbs
