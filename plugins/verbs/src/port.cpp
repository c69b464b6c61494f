// SPDX-License-Identifier: BSD-3-Clause
// VerbsPort: posting, progress, and closing.
#include "port.hpp"

#include "process_ports.hpp"

#include <cinnabar/base/log.hpp>

#include <sys/epoll.h>

#include <algorithm>

namespace cinnabar::verbs {
namespace {

// Room in the completion queue for the work requests of all sessions of a port.
constexpr std::uint32_t in_queue_wanted = 8192;
// Sessions that are being made or drained, in addition to those that may be open.
constexpr std::uint32_t sessions_extra = 1024;

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
      manager_(*this),
      arrivals_(*this),
      listener_watch_(host, transport, &VerbsTransport::take_requests),
      device_watch_(host, transport.device()),
      sessions_(ThreadUse::one, transport.limits().connections_max + sessions_extra),
      failure_(host),
      liveness_(*this) {}

Result<void> VerbsPort::open() {
    const std::uint32_t receives = transport_.posted_max();
    const auto entries_max = static_cast<std::uint32_t>(std::max(device().limits().max_cqe, 1));
    const std::uint32_t entries = std::min(entries_max, receives + in_queue_wanted);
    room_.open(entries - receives);
    CINNABAR_TRY_VOID(slots_.open());
    CINNABAR_TRY_VOID(cells_.open());
    CINNABAR_TRY_VOID(arrivals_.queue().open(device(), entries, this));
    CINNABAR_TRY_VOID(manager_.open());
    const int listener = transport_.listener_fd();
    const bool watched =
        device_watch_.start() && (listener < 0 || listener_watch_.start(listener, EPOLLIN | EPOLLEXCLUSIVE));
    if (!watched) return Error(errc_from_errno(errno), "watching the device and its listener", {}, errno);
    ProcessPorts::get().add(*this);
    return {};
}

void VerbsPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    ProcessPorts::get().remove(*this);
    listener_watch_.stop();
    device_watch_.stop();
    manager_.stop();
    liveness_.stop();
    inbox_.take_all().clear();
}

void VerbsPort::end_connections() noexcept {
    liveness_.forget_all();
    room_.forget_all();
    sessions_.for_each([this](Session& session) {
        if (session.stage() == Stage::closed) return;
        output_.remove(session);
        session.close(Errc::canceled);
        sessions_.release(session);
    });
}

void VerbsPort::release_all() noexcept {
    arrivals_.queue().close();
    slots_.close();
    manager_.close();
}

Errc VerbsPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<VerbsPeer&>(*op.peer);
    RemoteAddress remote;
    Errc wrong = Errc::ok;
    if (!na::is_message(op.kind)) {
        const std::uint64_t bytes = na::is_atomic(op.kind) ? sizeof(std::uint64_t) : op.bytes;
        wrong = find_address(op.remote.key, op.remote_offset, bytes, remote);
        if (wrong == Errc::invalid_argument) return wrong;
    }
    Posted& posted = na::make_posted<Posted>(op);
    posted.remote = remote;
    if (wrong != Errc::ok) {
        end(posted, wrong);
    } else if (enqueue(peer, posted) && peer.session) {
        output_.add(*peer.session);
    }
    return Errc::ok;
}

unsigned VerbsPort::poll() noexcept {
    unsigned did = arrivals_.poll();
    did += inbox_.take_each([this](Incoming incoming) noexcept { accept(std::move(incoming)); });
    if (liveness_.any_drains()) did += liveness_.close_drained();
    if (failure_.seems_pending()) did += failure_.end_sessions(*this);
    did += settle();
    peers_.forget_spares();
    return did;
}

void VerbsPort::flush() noexcept {
    if (closed()) return;
    if (!slots_.refill()) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::error, "verbs", "posting receive slots failed");
    }
    if (output_.empty() && !anything_deferred()) return;
    output_.transmit();
    (void)settle();
}

bool VerbsPort::prepare_wait() noexcept {
    if (!output_.empty() || anything_deferred() || !inbox_.empty() || failure_.pending()) return false;
    return arrivals_.queue().arm();
}

}  // namespace cinnabar::verbs
