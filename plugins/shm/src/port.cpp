// SPDX-License-Identifier: BSD-3-Clause
// ShmPort: posting and progress. Chooses which sessions are read and written.
#include "port.hpp"

#include "full_barrier.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cstring>
#include <utility>

namespace cinnabar::shm {
namespace {

// Bytes copied per round: while small messages are exchanged, and otherwise.
constexpr std::uint64_t copy_bytes_small = 128 * 1024;
constexpr std::uint64_t copy_bytes_large = 1024 * 1024;

}  // namespace

ContextBell::ContextBell(ShmPort& port) noexcept : port_(port), watch_(port.host(), *this, &ContextBell::ready) {}

bool ContextBell::open() noexcept {
    fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // Never read: with EPOLLET each write is an event.
    return fd_ && watch_.start(fd_.get(), EPOLLIN | EPOLLET);
}

void ContextBell::close() noexcept {
    watch_.stop();
    fd_.reset();
}

void ContextBell::ready() noexcept {
    (void)port_.hot_sessions().look();
    (void)port_.settle();
}

ShmPort::ShmPort(ShmTransport& transport, na::PortHost& host)
    : SocketPort(*this, transport, transport.options(), host, transport.limits().message_bytes_max),
      transport_(transport),
      messages_(host.threads(), options().send_slots_max, transport.limits().message_bytes_max),
      hot_sessions_(host),
      sessions_(ThreadUse::one, options().connections_max),
      dials_(ThreadUse::one, options().connections_max),
      access_pools_(options().connections_max),
      bell_(*this) {}

void ShmPort::stop_events() noexcept {
    transport_.ports().remove(*this);
    handshakes_.close();
}

Errc ShmPort::post(na::Op& op) noexcept {
    auto& peer = static_cast<ShmPeer&>(*op.peer);
    na::PostedOp& posted = na::make_posted(op);
    if (!na::is_message(op.kind) && op.remote.key.size() != key_bytes) {
        end(posted, Errc::invalid_argument);
    } else if (enqueue(peer, posted) && peer.session) {
        output_.retry(*peer.session);
    }
    return Errc::ok;
}

bool ShmPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<ShmPeer&>(to);
    return peer.session && !peer.ending() && peer.messages.empty() && peer.session->write_message(kind, tag, message);
}

void ShmPort::cancel_begun(na::SessionPeer& peer, na::PostedOp& posted) noexcept {
    static_cast<ShmPeer&>(peer).session->cancel(posted);
}

void ShmPort::wrote(Session& session) noexcept {
    if (!Announcements::linked(session)) announcing_.push_back(session);
}

void ShmPort::closing(Session& session) noexcept {
    output_.remove(session);
    if (Announcements::linked(session)) announcing_.remove(session);
    copies_.remove(session);
    hot_sessions_.end(session);
}

unsigned ShmPort::retry_blocked() noexcept {
    unsigned did = 0;
    for (Session* session = output_.blocked().front(); session;) {
        Session& now = *std::exchange(session, Outputs::next(*session));
        if (!now.room_came()) continue;
        output_.retry(now);
        ++did;
    }
    return did;
}

unsigned ShmPort::poll() noexcept {
    unsigned did = take_inbox();
    did += hot_sessions_.look();
    if (!output_.blocked().empty()) did += retry_blocked();
    if (!copies_.empty()) did += copies_.copy(small_.recent(host().now_us()) ? copy_bytes_small : copy_bytes_large);
    if (transport_.fences_pending()) did += transport_.check_fences(host());
    did += settle();
    // Sends what the handlers of arrivals and completions have posted, and completes those ops before the next arrival,
    // because the peer may answer at once.
    if (!output_.empty() || !announcing_.empty()) {
        write_out();
        did += settle();
    }
    peers_.forget_spares();
    return did;
}

void ShmPort::write_out() noexcept {
    output_.transmit();
    if (announcing_.empty()) return;
    // Orders writing records before checking which peers sleep. Pairs with the barrier of prepare_wait().
    full_barrier();
    while (Session* session = announcing_.pop_front()) session->announce();
}

void ShmPort::flush() noexcept {
    write_out();
    (void)settle();
}

bool ShmPort::prepare_wait() noexcept {
    if (!output_.empty() || has_deferred_work() || !copies_.empty() || !announcing_.empty()) {
        return false;
    }
    if (transport_.fences_pending()) return false;
    hot_sessions_.arm();
    for (Session* session = output_.blocked().front(); session; session = Outputs::next(*session))
        session->await_room();
    // Before this barrier, the bells are armed and room is asked for; after it come the last checks. Pairs with the
    // barriers of write_out() and Session::give_room_back().
    full_barrier();
    if (hot_sessions_.missed()) return false;
    for (const Session* session = output_.blocked().front(); session; session = Outputs::next(*session)) {
        if (session->room_came()) return false;
    }
    return true;
}

}  // namespace cinnabar::shm
